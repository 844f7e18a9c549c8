/** Checks the rules of the console's tree on small trees. */
import { expect, test } from 'vitest'
import { consoleFindings } from '../../scripts/console-rules.ts'
import { readFacts } from '../../scripts/source-facts.ts'

const found = (files: Record<string, string>): string[] =>
  consoleFindings(readFacts(files)).map(({ path, line, what }) => `${path}${line ? `:${line}` : ''} ${what}`)

test('nothing is found in a console that follows the rules', () => {
  const tree = {
    'console/src/main.tsx': "import { router } from './app/router.tsx'\nrouter()",
    'console/src/app/router.tsx': "import { Grid } from '../grid/grid.tsx'\nexport const router = () => <Grid />",
    'console/src/grid/grid.tsx':
      "import 'react'\nimport { gridTexts } from '../texts/grid.ts'\nimport './grid.css'\nexport const Grid = () => gridTexts",
    'console/src/texts/grid.ts': 'export const gridTexts = {}',
  }
  expect(found(tree)).toEqual([])
})

test.each([
  [
    'an import of a later room',
    { 'console/src/ui/a.tsx': "import '../grid/b.ts'" },
    'console/src/ui/a.tsx:1 ui imports console/src/grid/b.ts',
  ],
  [
    'an import of a later room when it is needed',
    { 'console/src/cells/a.tsx': "const b = () => import('../grid/b.ts')" },
    'console/src/cells/a.tsx:1 cells imports console/src/grid/b.ts',
  ],
  [
    'the sources of the service',
    { 'console/src/app/a.ts': "import '../../../src/client.ts'" },
    'console/src/app/a.ts:1 imports src/client.ts',
  ],
  ['a folder that is no feature', { 'console/src/lib/a.ts': '' }, 'console/src/lib/a.ts lib/ is not a room of the console'],
  ['a file at the root', { 'console/src/a.ts': '' }, 'console/src/a.ts lies at the root'],
  ['a name that says nothing', { 'console/src/ui/helpers.tsx': '' }, 'console/src/ui/helpers.tsx helpers.tsx says nothing'],
  ['a long file', { 'console/src/ui/a.tsx': '\n'.repeat(351) }, 'console/src/ui/a.tsx 351 lines'],
  ['a wide line', { 'console/src/ui/a.ts': `// ${'x'.repeat(140)}` }, 'console/src/ui/a.ts:1 has more than 140 characters'],
  [
    'a crowded room',
    Object.fromEntries([...'abcdefghijklmnopq'].map((name) => [`console/src/ui/${name}.ts`, ''])),
    'console/src/ui 17 files',
  ],
  [
    'a cycle',
    { 'console/src/ui/a.ts': "import './b.ts'", 'console/src/ui/b.ts': "import './a.ts'" },
    'console/src/ui/a.ts a cycle: ui/a.ts → ui/b.ts → ui/a.ts',
  ],
])('%s is found', (_, tree, finding) => {
  expect(found(tree as Record<string, string>)).toEqual([finding])
})
