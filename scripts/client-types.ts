/**
 * Bundles the type of the API into one declaration file: the shapes of inputs and outputs, without the server's own types.
 * TypeScript 7 has no API that bundles declarations, and tools such as API Extractor need the JavaScript compiler. The compiler
 * prints procedures fully expanded, so this module only has to collect the named types.
 */
import { dirname, posix } from 'node:path'
import {
  type Identifier,
  type ImportTypeNode,
  isExportDeclaration,
  isExpressionWithTypeArguments,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isInterfaceDeclaration,
  isLiteralTypeNode,
  isPropertySignatureDeclaration,
  isStringLiteral,
  isTypeAliasDeclaration,
  isTypeParameterDeclaration,
  isTypeQueryNode,
  isTypeReferenceNode,
  isVariableStatement,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast'

/** Types that clients do not need: they become `object`. */
const ERASED = new Set(['src/platform/http/procedures/request-context.ts RequestContext', 'src/platform/http/procedures/trpc.ts Meta'])
/** Packages that every client installs. */
const isAllowed = (module: string) => module === '@trpc/server' || module.startsWith('@trpc/server/')

/** A replacement within the text of a declaration. */
interface Edit {
  start: number
  end: number
  text: string
}

/**
 * Returns the declarations of a variable's type, which is named `AppRouter`.
 * @param parse the emitted declaration file of a source, such as src/router.ts
 * @throws Error naming a type that depends on the server's code
 */
export function flatTypes(parse: (path: string) => SourceFile, entry: { path: string; variable: string }): string {
  const names = new Map<string, string>()
  const written: string[] = []
  const imported = new Map<string, Set<string>>()
  let errorShape: string | undefined

  const router = typeOfVariable(parse(entry.path), entry.variable)
  const appRouter = rewritten(entry.path, router)
  const imports = [...imported].map(
    ([module, its]) => `import type {\n${[...its].map((name) => `  ${name},\n`).join('')}} from '${module}'`,
  )
  return [
    '// Written by `npm run build:client` from the procedures of the service.\n',
    `${imports.join('\n')}\n`,
    ...written,
    `/** The shape of every error. */\nexport type ErrorShape = ${errorShape ?? 'object'}\n`,
    `/** The whole API: each procedure with its input and its output. */\nexport type AppRouter = ${appRouter}\n`,
  ].join('\n')

  /** The text of a node, with every name in it replaced by its name in the flat file. */
  function rewritten(path: string, node: Node): string {
    const file = parse(path)
    const start = node.getStart(file)
    let text = file.text.slice(start, node.end)
    for (const edit of editsOf(path, file, node).toSorted((a, b) => b.start - a.start)) {
      text = text.slice(0, edit.start - start) + edit.text + text.slice(edit.end - start)
    }
    return text
  }

  function editsOf(path: string, file: SourceFile, node: Node): Edit[] {
    const edits: Edit[] = []
    const ownParameters = typeParametersIn(node)

    function visit(part: Node): void {
      if (isTypeQueryNode(part)) throw new Error(`${path}: ${part.getText(file)} is a value of the server; give its type a name of its own`)
      if (isImportTypeNode(part) && isLiteralTypeNode(part.argument) && isStringLiteral(part.argument.literal)) {
        visitImportType(part, part.argument.literal.text)
      } else if (isPropertySignatureDeclaration(part) && part.name.getText(file) === 'errorShape' && part.type) {
        visitErrorShape(part.type)
      } else {
        visitName(referenced(part))
        part.forEachChild(visit)
      }
    }

    /** `import('./schema.ts').Task` becomes the name of that type in the flat file. */
    function visitImportType(part: ImportTypeNode, module: string): void {
      const text = named(path, module, part.qualifier?.getText(file) ?? '')
      edits.push({ start: part.getStart(file), end: part.qualifier?.end ?? part.end, text })
      for (const typeArgument of part.typeArguments ?? []) visit(typeArgument)
    }

    /** The compiler repeats the shape for each procedure; the flat file declares it once. */
    function visitErrorShape(shape: Node): void {
      errorShape ??= dedented(rewritten(path, shape))
      edits.push({ start: shape.getStart(file), end: shape.end, text: 'ErrorShape' })
    }

    function visitName(name: Identifier | undefined): void {
      if (!name || ownParameters.has(name.text)) return
      const source = sourceOf(file, name.text)
      if (source === undefined) return
      const text = source === '' ? declared(path, name.text) : named(path, source, name.text)
      edits.push({ start: name.getStart(file), end: name.end, text })
    }

    visit(node)
    return edits
  }

  /** Returns the name that a name of another module has in the flat file. */
  function named(from: string, module: string, name: string): string {
    if (module.startsWith('.')) return declared(posix.join(dirname(from), module), name)
    if (!isAllowed(module)) throw new Error(`${from}: ${name} comes from ${module}, which clients do not have; write it as a plain type`)
    imported.set(module, (imported.get(module) ?? new Set()).add(name))
    return name
  }

  /** Returns the name of a declared type in the flat file, and adds its declaration there the first time. */
  function declared(path: string, name: string): string {
    const id = `${path} ${name}`
    if (ERASED.has(id)) return 'object'
    const known = names.get(id)
    if (known) return known
    const file = parse(path)
    const node = file.statements.find(
      (statement) => (isInterfaceDeclaration(statement) || isTypeAliasDeclaration(statement)) && statement.name.text === name,
    )
    if (!node) throw new Error(`${path}: ${name} is neither an interface nor a type; clients need one`)
    const taken = new Set([...names.values(), 'AppRouter', 'ErrorShape'])
    let unique = name
    for (let count = 2; taken.has(unique); count++) unique = `${name}${count}`
    // The name is recorded before the declaration is written, because a type may refer to itself.
    names.set(id, unique)
    const text = rewritten(path, node).replace(/^(export )?(declare )?(interface|type) \w+/, `export $3 ${unique}`)
    written.push(`${text}\n`)
    return unique
  }
}

/** Removes the indentation of the block's last line from all of its lines. */
function dedented(text: string): string {
  const indent = /\n( *)[^\n]*$/.exec(text)?.[1] ?? ''
  return text.replaceAll(`\n${indent}`, '\n')
}

function typeOfVariable(file: SourceFile, name: string): Node {
  for (const statement of file.statements) {
    if (!isVariableStatement(statement)) continue
    const declaration = statement.declarationList.declarations.find((one) => one.name.getText(file) === name)
    if (declaration?.type) return declaration.type
  }
  throw new Error(`${name} is not declared`)
}

function typeParametersIn(node: Node): Set<string> {
  const found = new Set<string>()
  function visit(part: Node): void {
    if (isTypeParameterDeclaration(part)) found.add(part.name.text)
    part.forEachChild(visit)
  }
  visit(node)
  return found
}

function referenced(node: Node): Identifier | undefined {
  const name = isTypeReferenceNode(node) ? node.typeName : isExpressionWithTypeArguments(node) ? node.expression : undefined
  return name && isIdentifier(name) ? name : undefined
}

/** Returns the module that a name is imported from, '' if the file declares it, undefined if the language does. */
function sourceOf(file: SourceFile, name: string): string | undefined {
  for (const statement of file.statements) {
    if ((isInterfaceDeclaration(statement) || isTypeAliasDeclaration(statement)) && statement.name.text === name) return ''
    if (!isImportDeclaration(statement) && !isExportDeclaration(statement)) continue
    const bindings = isImportDeclaration(statement) ? statement.importClause?.namedBindings : undefined
    const specifier = statement.moduleSpecifier
    if (specifier && isStringLiteral(specifier) && bindings?.getText(file).match(new RegExp(`\\b${name}\\b`))) return specifier.text
  }
  return undefined
}
