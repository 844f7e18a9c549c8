/** Reads the facts that the house rules need from the compiler's syntax tree of a source file. */
import { dirname, posix } from 'node:path'
// TypeScript's version is pinned, because TypeScript 7 calls this API unstable. test/unit/house.test.ts fails if it changes.
import {
  isArrowFunction,
  isCallExpression,
  isElementAccessExpression,
  isExportDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isIfStatement,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isMethodDeclaration,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast'
import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { API } from 'typescript/unstable/sync'

/** Something on a line, counted from 1. */
interface At {
  line: number
}

/** The most characters of a line. */
export const WIDEST_LINE = 140

export interface SourceFacts {
  /** The path from the root of the tree, such as src/tasks/router.ts. */
  path: string
  lines: number
  /** The numbers of the lines with more than `WIDEST_LINE` characters. */
  wideLines: number[]
  /** `to` is a path from the root of the tree, or the name of a package. Imports of types count. */
  imports: (At & { to: string })[]
  /** `tx.task.update` of `tx.task.update({…})`. */
  calls: (At & { callee: string })[]
  /** Strings and templates, with `?` for each substitution. */
  texts: (At & { text: string })[]
  /** Tags of tagged templates. */
  tags: (At & { tag: string })[]
  /** Templates with the tag `sql`, with `?` for each substitution. */
  sql: (At & { text: string })[]
  ifs: At[]
  /** Functions at the top level of the file, with their length in lines. */
  functions: (At & { name: string; lines: number })[]
}

const ROOT = '/house'
/** Only the syntax is read: without resolution of imports, no library is loaded. */
const CONFIG = { compilerOptions: { noLib: true, noResolve: true, noEmit: true, allowImportingTsExtensions: true, types: [] } }

/** Reads the facts. @param files texts by path from the root of the tree @throws Error if a file cannot be parsed */
export function readFacts(files: Record<string, string>): SourceFacts[] {
  const inMemory = Object.fromEntries(Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]))
  const config = `${ROOT}/tsconfig.json`
  const api = new API({
    cwd: ROOT,
    fs: createVirtualFileSystem({ ...inMemory, [config]: JSON.stringify({ ...CONFIG, files: Object.keys(inMemory) }) }),
  })
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    return Object.keys(files).map((path) => {
      const file = project?.program.getSourceFile(`${ROOT}/${path}`)
      if (!file) throw new Error(`${path} could not be parsed`)
      return factsOf(path, file)
    })
  } finally {
    api.close()
  }
}

function factsOf(path: string, file: SourceFile): SourceFacts {
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1
  const at = (node: Node) => lineOf(node.getStart(file))
  const facts: SourceFacts = {
    path,
    lines: lineCount(file.text),
    wideLines: file.text.split('\n').flatMap((line, index) => ([...line].length > WIDEST_LINE ? [index + 1] : [])),
    imports: [],
    calls: [],
    texts: [],
    tags: [],
    sql: [],
    ifs: [],
    functions: [],
  }

  function visit(node: Node): void {
    const imported = importedBy(node)
    if (imported) facts.imports.push({ line: at(node), to: resolved(path, imported) })
    const callee = isCallExpression(node) ? nameOf(node.expression) : undefined
    if (callee) facts.calls.push({ line: at(node), callee })
    const text = literalText(node)
    if (text !== undefined) facts.texts.push({ line: at(node), text })
    if (isTaggedTemplateExpression(node)) noteTag(nameOf(node.tag) ?? '', node.template)
    if (isIfStatement(node)) facts.ifs.push({ line: at(node) })
    node.forEachChild(visit)
  }
  function noteTag(tag: string, template: Node): void {
    facts.tags.push({ line: at(template), tag })
    if (tag === 'sql') facts.sql.push({ line: at(template), text: literalText(template) ?? '' })
  }
  visit(file)

  for (const statement of file.statements) noteFunctions(statement)
  function noteFunctions(node: Node): void {
    if (isFunction(node)) {
      const name = (node as { name?: Node }).name ?? (node.parent as { name?: Node } | undefined)?.name
      facts.functions.push({ name: name?.getText(file) ?? 'a function', line: at(node), lines: lineOf(node.end) - at(node) + 1 })
    } else node.forEachChild(noteFunctions)
  }
  return facts
}

const isFunction = (node: Node) =>
  isFunctionDeclaration(node) || isArrowFunction(node) || isFunctionExpression(node) || isMethodDeclaration(node)

const lineCount = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

/** The module of an import in any form: a statement, a re-export, `import('…')`, a type `import('…').Name`. */
function importedBy(node: Node): string | undefined {
  if (isImportDeclaration(node) || isExportDeclaration(node)) return literal(node.moduleSpecifier)
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) return literal(node.arguments[0])
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument)) return literal(node.argument.literal)
  return undefined
}

const literal = (node: Node | undefined) => (node && isStringLiteral(node) ? node.text : undefined)

function resolved(from: string, specifier: string): string {
  return specifier.startsWith('.') ? posix.join(dirname(from), specifier) : specifier
}

/** `a.b.c` and `a['b'].c` as text; undefined for any other expression. */
function nameOf(node: Node): string | undefined {
  if (isPropertyAccessExpression(node)) return `${nameOf(node.expression) ?? ''}.${node.name.text}`
  if (isElementAccessExpression(node)) return `${nameOf(node.expression) ?? ''}.${literal(node.argumentExpression) ?? ''}`
  return node.kind === SyntaxKind.Identifier ? (node as Node & { text: string }).text : undefined
}

function literalText(node: Node): string | undefined {
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text
  if (isTemplateExpression(node)) return [node.head.text, ...node.templateSpans.map((span) => span.literal.text)].join(' ? ')
  return undefined
}
