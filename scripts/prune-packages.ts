/**
 * Deletes files of packages that nothing here opens, after each install: npm installs packages whole, and these files are a quarter of what
 * production needs. `.ci/run` holds the size of the rest.
 */
import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const packages = join(import.meta.dirname, '../node_modules')

const unused = [
  // Node's headers, for compiling packages in C++.
  'node/node_modules/node-*/include',
  // What Prisma's client compiles queries with, for other databases than PostgreSQL.
  '@prisma/client/runtime/query_compiler_*.{cockroachdb,mysql,sqlite,sqlserver}.*',
]

for (const path of globSync(unused, { cwd: packages })) rmSync(join(packages, path), { recursive: true })
