/**
 * One declaration file for the API's type, flattened from what the compiler emits for the server: the shapes of inputs and
 * outputs, and nothing of what is behind them. TypeScript 7 has no API that bundles declarations, and API Extractor and its like
 * need the JavaScript compiler; the compiler prints procedures fully expanded, so only the types with names have to be collected.
 */
import { dirname, posix } from 'node:path'
import {
  type Identifier,
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

/** What clients need not know: it becomes `object`. */
const ERASED = new Set(['src/platform/http/trpc.ts RequestContext', 'src/platform/http/trpc.ts Meta'])
/** What a client installs anyway. */
const isAllowed = (module: string) => module === '@trpc/server' || module.startsWith('@trpc/server/')

/** A name within a declaration, to be written otherwise. */
interface Edit {
  start: number
  end: number
  text: string
}

/**
 * Writes the declarations of a variable's type, as `AppRouter`.
 * @param parse the emitted declaration file of a source, such as src/router.ts
 * @throws Error naming the type that needs something of the server
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

  /** The text of a node, with every name in it replaced by what it is called in the flat file. */
  function rewritten(path: string, node: Node): string {
    const file = parse(path)
    const edits: Edit[] = []
    const own = typeParametersIn(node)
    const replace = (part: Node, text: string) => edits.push({ start: part.getStart(file), end: part.end, text })

    function visit(part: Node): void {
      if (isTypeQueryNode(part)) throw new Error(`${path}: ${part.getText(file)} is a value of the server; give its type a name of its own`)
      if (isImportTypeNode(part) && isLiteralTypeNode(part.argument) && isStringLiteral(part.argument.literal)) {
        const name = part.qualifier?.getText(file) ?? ''
        const end = part.qualifier?.end ?? part.end
        edits.push({ start: part.getStart(file), end, text: named(path, part.argument.literal.text, name) })
        for (const argument of part.typeArguments ?? []) visit(argument)
        return
      }
      // The compiler repeats it for each procedure.
      if (isPropertySignatureDeclaration(part) && part.name.getText(file) === 'errorShape' && part.type) {
        errorShape ??= dedented(rewritten(path, part.type))
        replace(part.type, 'ErrorShape')
        return
      }
      const name = referenced(part)
      if (name && !own.has(name.text)) {
        const source = sourceOf(file, name.text)
        if (source !== undefined) replace(name, source === '' ? declared(path, name.text) : named(path, source, name.text))
      }
      part.forEachChild(visit)
    }
    visit(node)

    const start = node.getStart(file)
    let text = file.text.slice(start, node.end)
    for (const edit of edits.toSorted((a, b) => b.start - a.start)) {
      text = text.slice(0, edit.start - start) + edit.text + text.slice(edit.end - start)
    }
    return text
  }

  /** What a name of another module is called here. */
  function named(from: string, module: string, name: string): string {
    if (module.startsWith('.')) return declared(posix.join(dirname(from), module), name)
    if (!isAllowed(module)) throw new Error(`${from}: ${name} comes from ${module}, which clients do not have; write it as a plain type`)
    imported.set(module, (imported.get(module) ?? new Set()).add(name))
    return name
  }

  /** Writes the declaration of a named type, once. */
  function declared(path: string, name: string): string {
    const id = `${path} ${name}`
    if (ERASED.has(id)) return 'object'
    const known = names.get(id)
    if (known) return known
    const file = parse(path)
    const node = file.statements.find(
      (statement) => (isInterfaceDeclaration(statement) || isTypeAliasDeclaration(statement)) && statement.name.text === name,
    )
    if (!node) throw new Error(`${path}: ${name} is no interface and no type; clients need one`)
    const taken = new Set([...names.values(), 'AppRouter', 'ErrorShape'])
    let unique = name
    for (let count = 2; taken.has(unique); count++) unique = `${name}${count}`
    // Noted before it is written: a type may name itself.
    names.set(id, unique)
    const text = rewritten(path, node).replace(/^(export )?(declare )?(interface|type) \w+/, `export $3 ${unique}`)
    written.push(`${text}\n`)
    return unique
  }
}

/** Moves a block to the left edge, where its last line tells how far. */
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

/** The module that a name is imported from, '' for one declared in the file, undefined for one of the language. */
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
