/** The pages of the documentation: the files of the repository that are shown beside the reference. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface DocFile {
  /** From the root of the repository: `docs/decisions/0001-typed-tables.md`. */
  path: string
  /** The end of its address: `decisions/0001-typed-tables`. */
  name: string
  title: string
  /** What the page answers, in a few words; empty if nothing says it. */
  about: string
  text: string
}

export interface DocGroup {
  title: string
  files: DocFile[]
}

/** The order in which the pages are listed, by what one wants to do. A page that is not here comes last in the first group. */
const GROUPS: Record<string, string[]> = {
  'Use the API': [
    ...['readme', 'console', 'concepts', 'authentication', 'errors', 'paging', 'limits', 'queries', 'field-types', 'history', 'csv'],
    ...['files', 'email', 'events', 'client', 'copies-of-tasks'],
  ],
  'Run the service': [
    ...['operations', 'upgrades', 'backup', 'monitoring', 'tuning', 'scaling', 'mail', 'audit', 'indexes', 'stored-files', 'reliability'],
    ...['benchmarks', 'security'],
  ],
  'Work on it': ['contributing', 'architecture', 'decisions', 'changelog'],
}

const AT_ROOT = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']

/** Reads all pages, those of the root that are there included. */
export async function readDocFiles(): Promise<DocFile[]> {
  const inDocs = await readdir(join(ROOT, 'docs'), { recursive: true })
  const paths = [...AT_ROOT.filter((path) => existsSync(join(ROOT, path))), ...inDocs.map((path) => `docs/${path}`).sort()]
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8').catch(() => '')
  return Promise.all(paths.filter((path) => path.endsWith('.md')).map((path) => readDocFile(path, readme)))
}

/** A picture of a page, such as `docs/benchmarks/growth.svg`. */
export const readPicture = (path: string): Promise<Buffer> => readFile(join(ROOT, path))

/** The paths of the pictures in `docs/`. */
export async function picturePaths(): Promise<string[]> {
  const inDocs = await readdir(join(ROOT, 'docs'), { recursive: true })
  return inDocs.filter((path) => /\.(svg|png)$/.test(path)).map((path) => `docs/${path}`)
}

async function readDocFile(path: string, readme: string): Promise<DocFile> {
  const text = await readFile(join(ROOT, path), 'utf8')
  const name = path
    .replace(/^docs\//, '')
    .replace(/\.md$/, '')
    .replace(/\/README$/, '')
    .toLowerCase()
  const title = path === 'README.md' ? 'Overview' : plain(/^# (.+)$/m.exec(text)?.[1] ?? name)
  return { path, name, title, about: aboutIn(readme, path) || firstSentence(text), text }
}

const plain = (markdown: string) =>
  markdown
    .replace(/\s+/g, ' ')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')

/** What the table of pages in the README says. */
function aboutIn(readme: string, path: string): string {
  const row = readme.split('\n').find((line) => line.startsWith('| [') && line.includes(`](${path}) |`))
  const about = plain(row?.split(' | ').at(-1)?.replace(/ \|$/, '') ?? '')
  return about && `${about.charAt(0).toUpperCase()}${about.slice(1)}.`
}

/** That of the paragraph after the title, if one is there. */
function firstSentence(text: string): string {
  const [, paragraph = ''] = /^# .+\n\n([A-Z][\s\S]*?)(?:\n\n|$)/.exec(text) ?? []
  return /^.{1,160}?[.:](?= |$)/.exec(plain(paragraph))?.[0].replace(/:$/, '.') ?? ''
}

/** The pages of the navigation. Single decisions are listed on the page of all of them. */
export function groupsOf(files: readonly DocFile[]): DocGroup[] {
  const known = new Set(Object.values(GROUPS).flat())
  const others = files.filter(({ name }) => !known.has(name) && !name.includes('/'))
  return Object.entries(GROUPS).map(([title, names], index) => ({
    title,
    files: [...names.flatMap((name) => files.filter((file) => file.name === name)), ...(index === 0 ? others : [])],
  }))
}
