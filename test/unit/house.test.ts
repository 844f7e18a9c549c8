// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the trees hold templates of SQL.
/** Checks the house rules on small trees. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path/posix'
import { describe, expect, test } from 'vitest'
import { findings } from '../../scripts/house-rules.ts'
import { readFacts } from '../../scripts/source-facts.ts'

const SCHEMA = `model Task {
  id Int @id
  @@map("tasks")
}
model ApiKey {
  id Int @id
  @@map("api_keys")
}
`

/** Returns the findings in a tree, as `path:line what`. */
function found(files: Record<string, string>, schema = SCHEMA): string[] {
  return findings(readFacts(files), schema).map(({ path, line, what }) => `${path}${line ? `:${line}` : ''} ${what}`)
}

describe('the house rules', () => {
  test('find nothing in a feature that follows them', () => {
    const tree = {
      'src/platform/database/database.ts': 'export const sql = String.raw',
      'src/tasks/schema.ts': "import { z } from 'zod'\nexport const Task = z.object({})",
      'src/tasks/service.ts':
        "import { sql } from '../platform/database/database.ts'\nexport const mark = (context, id) => { if (id) return context.db.write(sql`update tasks set status = 'done'`) }",
      'src/tasks/router.ts': "import { mark } from './service.ts'\nexport const tasksRouter = { mark }",
      'src/router.ts': "import { tasksRouter } from './tasks/router.ts'\nexport const appRouter = { tasks: tasksRouter }",
      'src/process.ts': 'process.exit(0)',
      'src/platform/time/time.ts': "import { parse } from 'date-fns'\nexport { parse }",
    }
    expect(found(tree)).toEqual([])
  })

  test('find nothing in SQL whose aliases stand before a dot, or that meets no field', () => {
    const tree = {
      'src/csv/a.ts':
        'export const a = sql`select row_to_json(w.*), max(id) as last from (\n' +
        'select * from ${recordsOf(1)} r, unnest(r.${ident(b)}) with ordinality as u (o, at) where u.o > 1 order by u.at) w`',
      'src/tasks/a.ts': "export const a = sql`select e->>'name' from jsonb_array_elements(${b}) e`",
    }
    expect(found(tree)).toEqual([])
  })

  test.each([
    ['an index.ts', { 'src/tasks/index.ts': '' }, 'src/tasks/index.ts index.ts says nothing'],
    ['a folder that is not a feature', { 'src/lib/text.ts': '' }, 'src/lib/text.ts lib/ is not a feature'],
    ['a room within a room', { 'src/tasks/sync/parts/a.ts': '' }, 'src/tasks/sync/parts/a.ts a room within a room'],
    ['an unknown room of the platform', { 'src/platform/misc/a.ts': '' }, 'src/platform/misc/a.ts platform/misc/ is not a room'],
    ['a file at the root', { 'src/semaphore.ts': '' }, 'src/semaphore.ts lies at the root'],
    ['a crowded folder', Object.fromEntries([...'abcdefghijklmnopq'].map((name) => [`src/tasks/${name}.ts`, ''])), 'src/tasks 17 files'],
    [
      'a crowded room of the platform',
      Object.fromEntries([...'abcdefghijklmnopq'].map((name) => [`src/platform/http/load/${name}.ts`, ''])),
      'src/platform/http/load 17 files',
    ],
    [
      'a crowded ground floor',
      Object.fromEntries([...'abcdefghijklmnopq'].map((name) => [`src/platform/${name}.ts`, ''])),
      'src/platform 17 files',
    ],
    [
      'an if in the router of a room',
      { 'src/tasks/comments/router.ts': '\nif (1) {}' },
      'src/tasks/comments/router.ts:2 an `if` in a router',
    ],
    [
      'an alias that stands alone beside fields',
      {
        'src/csv/a.ts':
          "const name = sql`e->>'name'`\nexport const a = (f) => sql`select from ${recordsOf(1)} r, jsonb_array_elements(r.${ident(f)}) e where ${name} > ''`",
      },
      'src/csv/a.ts:1 e stands alone in SQL',
    ],
    [
      'a row that stands alone beside fields',
      { 'src/csv/a.ts': 'export const a = sql`select row_to_json(w) from (select * from ${recordsOf(1)}) w`' },
      'src/csv/a.ts:1 w stands alone in SQL',
    ],
    [
      'a listed column that stands alone beside fields',
      {
        'src/csv/a.ts':
          'export const a = sql`select r.id from ${recordsOf(1)} r, unnest(r.${ident(b)}) with ordinality u (o, at) order by at`',
      },
      'src/csv/a.ts:1 at stands alone in SQL',
    ],
    ['a vague name', { 'src/tasks/helpers.ts': '' }, 'src/tasks/helpers.ts helpers.ts says nothing'],
    ['an if in a router', { 'src/tasks/router.ts': '\nif (1) {}' }, 'src/tasks/router.ts:2 an `if` in a router'],
    ['a query in a router', { 'src/tasks/router.ts': 'const a = sql`select 1`' }, 'src/tasks/router.ts:1 a query in a router'],
    [
      'the database in a router',
      { 'src/tasks/router.ts': "import '../platform/database/database.ts'" },
      'src/tasks/router.ts:1 a query in a router',
    ],
    [
      'Prisma in a schema',
      { 'src/tasks/schema.ts': "import type { Task } from '../../generated/prisma/client.ts'" },
      'src/tasks/schema.ts:1 rows in a schema',
    ],
    ['a query in a policy', { 'src/tasks/policy.ts': 'sql`select 1`' }, 'src/tasks/policy.ts:1 a query in a policy'],
    ['an if in docs', { 'src/tasks/docs.ts': '\nif (1) {}' }, 'src/tasks/docs.ts:2 an `if` in docs.ts'],
    ['HTTP in a service', { 'src/tasks/service.ts': "import 'fastify'" }, 'src/tasks/service.ts:1 fastify in a service'],
    ['a write among reads', { 'src/tasks/queries.ts': 'sql`delete from tasks`' }, 'src/tasks/queries.ts:1 a write among the reads'],
    ['a long job', { 'src/tasks/jobs.ts': `function sweep() {${'\n'.repeat(12)}}` }, 'src/tasks/jobs.ts:1 sweep has 13 lines'],
    ['another exit', { 'src/app.ts': 'process.exit(1)' }, 'src/app.ts:1 ends the process'],
    [
      'a feature that asks where records are',
      { 'src/tasks/detail.ts': 'export const a = (db) => db?.isElsewhere(1)' },
      'src/tasks/detail.ts:1 asks where records are',
    ],
    [
      'a feature that handles the bytes of rows',
      {
        'src/platform/database/statements/printed-rows.ts': 'export class PrintedRows {}',
        'src/tasks/detail.ts':
          "import { PrintedRows } from '../platform/database/statements/printed-rows.ts'\nexport const a = new PrintedRows()",
      },
      'src/tasks/detail.ts:1 handles the bytes of rows',
    ],
    ['a wide line', { 'src/app.ts': `// ${'a'.repeat(138)}` }, 'src/app.ts:1 has more than 140 characters'],
    ['a file of more than 300 lines', { 'src/platform/mail/html.ts': '\n'.repeat(301) }, 'src/platform/mail/html.ts 301 lines'],
  ])('find %s', (_, tree, expected) => {
    expect(found(tree as unknown as Record<string, string>)).toEqual([expected])
  })

  test.each([
    ['a statement', "import { a } from '../email/b.ts'"],
    ['a type', "import type { a } from '../email/b.ts'"],
    ['a type in braces', "import { type a } from '../email/b.ts'"],
    ['an effect', "import '../email/b.ts'"],
    ['a re-export', "export * from '../email/b.ts'"],
    ['a dynamic import', "const b = await import('../email/b.ts')"],
    ['a type query', "type B = import('../email/b.ts').B"],
  ])('sees an upward import written as %s', (_, line) => {
    expect(found({ 'src/tasks/a.ts': line, 'src/email/b.ts': '' })).toEqual(['src/tasks/a.ts:1 tasks imports src/email/b.ts'])
  })

  test('takes no import from a comment, a string or a template', () => {
    const text =
      "// import '../email/b.ts'\nconst a = \"import '../email/b.ts'\"\nconst b = `import '../email/b.ts'`\nconst c = /import '..\\/email'/"
    expect(found({ 'src/tasks/a.ts': text })).toEqual([])
  })

  test('keep the platform free of features, and everything free of the files at the root', () => {
    const tree = {
      'src/platform/http/procedures/rest.ts': "import '../../../tasks/service.ts'\nimport '../../../settings.ts'",
      'src/tasks/service.ts': "import '../router.ts'",
      'src/router.ts': '',
      'src/settings.ts': '',
      'src/app.ts': "import './router.ts'\nimport './tasks/service.ts'",
    }
    expect(found(tree)).toEqual([
      'src/platform/http/procedures/rest.ts:1 the platform imports the feature tasks',
      'src/tasks/service.ts:1 imports src/router.ts',
    ])
  })

  test.each([
    ['a room', 'src/platform/access/a.ts', 'src/platform/http/load/b.ts', 'access/ imports src/platform/http/load/b.ts'],
    ['the ground floor', 'src/platform/a.ts', 'src/platform/time/b.ts', 'the ground floor imports src/platform/time/b.ts'],
    ['a room within', 'src/platform/http/bodies/a.ts', 'src/platform/http/load/b.ts', 'http/bodies/ imports src/platform/http/load/b.ts'],
    [
      'a room of its own',
      'src/platform/database/statements/a.ts',
      'src/platform/database/b.ts',
      'database/statements/ imports src/platform/database/b.ts',
    ],
  ])('let the imports of the platform run down only: %s', (_, lower, higher, expected) => {
    const importing = (from: string, to: string) => found({ [from]: `import './${relative(dirname(from), to)}'`, [to]: '' })
    expect(importing(higher, lower)).toEqual([])
    expect(importing(lower, higher)).toEqual([`${lower}:1 ${expected}`])
  })

  test('name a cycle once, with its path', () => {
    const tree = {
      'src/tasks/a.ts': "import './b.ts'",
      'src/tasks/b.ts': "import './c.ts'",
      'src/tasks/c.ts': "import type { A } from './a.ts'",
      'src/tasks/d.ts': "import './a.ts'",
    }
    expect(found(tree)).toEqual(['src/tasks/a.ts a cycle: tasks/a.ts → tasks/b.ts → tasks/c.ts → tasks/a.ts'])
  })

  test.each([
    'tx.task.update({ where: { id } })',
    'context.db.prisma.task.deleteMany()',
    'sql`insert into tasks (title) values (1)`',
    'sql`with gone as (DELETE FROM "tasks" where id = 1 returning id) select id from gone`',
    'sql`update tasks t set version = 2`',
    "const text = 'update tasks set version = 1'",
  ])('let only the owner write: %s', (statement) => {
    expect(found({ 'src/tasks/due.ts': statement })).toEqual([])
    expect(found({ 'src/email/due.ts': statement })).toEqual(['src/email/due.ts:1 writes tasks'])
  })

  test.each(['sql`select id from tasks for update of tasks`', 'tx.task.findMany()', 'sql`insert into notes select * from tasks`'])(
    'let every feature read: %s',
    (statement) => {
      expect(found({ 'src/email/due.ts': statement })).toEqual([])
    },
  )

  test('require an owner for each table', () => {
    expect(found({}, 'model Stamp {\n  id Int @id\n  @@map("stamps")\n}\n')).toEqual(['prisma/schema.prisma nobody owns the table stamps'])
  })

  test('only warn of a file between 300 and 350 lines', () => {
    const isWarning = (lines: number) => findings(readFacts({ 'src/platform/mail/html.ts': '\n'.repeat(lines) }), '')[0]?.isWarning
    expect([isWarning(300), isWarning(301), isWarning(350), isWarning(351)]).toEqual([undefined, true, true, false])
  })

  test('give each finding a reason and a fix', () => {
    for (const { why, instead } of findings(readFacts({ 'src/lib/index.ts': '', 'src/app.ts': 'process.exit(1)' }), SCHEMA)) {
      expect(why).toMatch(/\.$/)
      expect(instead).toMatch(/\.$/)
    }
  })

  test('can read every file of the repository', () => {
    const files = Object.fromEntries(globSync('{src,scripts,test}/**/*.ts').map((path) => [path, readFileSync(path, 'utf8')]))
    expect(readFacts(files).flatMap(({ imports }) => imports).length).toBeGreaterThan(300)
  })
})
