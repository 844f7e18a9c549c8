/** The rules for the pages of a feature: what router.ts, service.ts and the other files with a fixed name must not contain. */
import type { SourceFacts } from './source-facts.ts'

const MOST_JOB_LINES = 12

export const WRITES = /\.(\w+)\.(?:create|createMany|createManyAndReturn|update|updateMany|updateManyAndReturn|upsert|delete|deleteMany)$/
export const SQL_WRITES =
  /\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|update(?:\s+only)?(?=\s+"?\w+"?\s+(?:(?:as\s+)?\w+\s+)?set\b))\s+"?(\w+)"?/gi

const reachesTheDatabase = (to: string) =>
  to === 'src/platform/database/database.ts' || to.includes('generated/prisma') || to.startsWith('@prisma/') || to === 'pg'

/** A kind of line that a page of a feature must not contain. */
interface Breach {
  line: number
  what: string
  instead: string
}

export interface PageRule {
  /** The files of a feature that the rule applies to. */
  isFor: (file: string) => boolean
  why: string
  breaches: (source: SourceFacts) => Breach[]
}

const named = (name: string) => (file: string) => file === name
export const isRouter = (file: string) => file === 'router.ts' || file.endsWith('-router.ts')
const databaseImports = ({ imports }: SourceFacts) => imports.filter(({ to }) => reachesTheDatabase(to))
const queries = (source: SourceFacts) => [...databaseImports(source), ...source.tags.filter(({ tag }) => tag === 'sql')]
const isHttp = (to: string) => /^(fastify|@fastify\/|@trpc\/)/.test(to) || to === 'src/platform/http/procedures/rest.ts'
const each = (lines: { line: number }[], what: string, instead: string): Breach[] => lines.map(({ line }) => ({ line, what, instead }))

/** The rules for each page of a feature. */
export const PAGE_RULES: PageRule[] = [
  {
    isFor: isRouter,
    why: 'A router is a table of contents: what exists, who may call it, which function answers.',
    breaches: (source) => [
      ...each(source.ifs, 'an `if` in a router', 'Let the service decide; who may call is an argument of the procedure.'),
      ...each(queries(source), 'a query in a router', 'Put it into service.ts (or queries.ts, if it is hot) and call that.'),
    ],
  },
  {
    isFor: named('schema.ts'),
    why: 'A schema is the shape on the wire, which stays when rows change.',
    breaches: (source) => each(databaseImports(source), 'rows in a schema', 'Say it in zod; service.ts and queries.ts turn rows into it.'),
  },
  {
    isFor: named('docs.ts'),
    why: 'docs.ts holds the texts and examples of the API document and nothing that runs.',
    breaches: (source) => [
      ...each(source.ifs, 'an `if` in docs.ts', 'Write the text out; behaviour belongs to the router or the service.'),
      ...each(queries(source), 'a query in docs.ts', 'Write the example out as a literal.'),
    ],
  },
  {
    isFor: named('policy.ts'),
    why: 'A policy is a pure function of its arguments, so that it can be tested with a table of cases.',
    breaches: (source) => each(queries(source), 'a query in a policy', 'Let the procedure load what the rule needs, and pass it in.'),
  },
  {
    isFor: named('service.ts'),
    why: 'Services serve requests, jobs and scripts alike.',
    breaches: ({ imports }) =>
      imports
        .filter(({ to }) => isHttp(to))
        .flatMap((at) =>
          each([at], `${at.to} in a service`, 'Take what you need from the context, return plain values, throw an AppError.'),
        ),
  },
  {
    isFor: named('queries.ts'),
    why: 'queries.ts may read any table because it writes none.',
    breaches: ({ calls, texts }) =>
      each(
        [
          ...calls.filter(({ callee }) => WRITES.test(callee) && callee.includes('prisma')),
          ...texts.filter(({ text }) => [...text.matchAll(SQL_WRITES)].length),
        ],
        'a write among the reads',
        'Move the statement to service.ts of the feature that owns the table.',
      ),
  },
  {
    isFor: named('jobs.ts'),
    why: `A job re-reads, decides and delegates, in at most ${MOST_JOB_LINES} lines: code inside a job cannot be called from elsewhere.`,
    breaches: ({ functions }) =>
      functions
        .filter(({ lines }) => lines > MOST_JOB_LINES)
        .flatMap((at) => each([at], `${at.name} has ${at.lines} lines`, 'Move its work to service.ts or to the file of its concept.')),
  },
]
