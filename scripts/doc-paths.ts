/** Finds paths in documents and in lists of files, and documents named in comments, that do not exist. */
import { dirname, normalize } from 'node:path'
import type { Finding } from './tree-rules.ts'

/** `[text](path#part)`, except for addresses and for parts of the same page. */
const LINK = /\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)]*)?\)/g
/** A path from the root of the repository. A character that ends it marks a pattern such as `src/<feature>/router.ts`, which is skipped. */
const PATH = /(?<![\w/.-])(?:src|scripts|test|docs|examples|prisma)\/[\w./-]*[\w/](?![\w/<{*…]|\.\w)/g
/** Their paths are imports, which the compiler checks, and examples. */
const SOURCE = /^(?:src|scripts)\/.*\.ts$/
const DOCUMENT = /(?<![\w/.-])docs\/[\w./-]+\.md/g

/**
 * @param files text by path: documents and lists of files, whose links and paths are checked, and sources, whose names of documents are checked
 * @param exists returns whether a file or folder exists at a path from the root
 */
export function deadPaths(files: Record<string, string>, exists: (path: string) => boolean): Finding[] {
  return Object.entries(files).flatMap(([path, text]) =>
    text.split('\n').flatMap((line, index) => {
      const named = SOURCE.test(path) ? all(DOCUMENT, line) : [...linksOf(path, line), ...all(PATH, line)]
      return [...new Set(named)].filter((target) => !exists(target)).map((target) => finding(path, index + 1, target))
    }),
  )
}

const linksOf = (path: string, line: string) => [...line.matchAll(LINK)].map(([, target = '']) => normalize(`${dirname(path)}/${target}`))
const all = (pattern: RegExp, line: string) => [...line.matchAll(pattern)].map(([target]) => target)

function finding(path: string, line: number, target: string): Finding {
  return {
    path,
    line,
    what: `names ${target}, which does not exist`,
    why: 'Whoever follows a dead path stops trusting what names it.',
    instead: 'Name the file as it is called now, or remove the sentence or the entry.',
  }
}
