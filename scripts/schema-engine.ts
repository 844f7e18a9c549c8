/** Prisma's schema engine as WebAssembly, used only for the SQL between two schema files, which it generates reliably. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import type { DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import type pg from 'pg'

/**
 * Returns the statements that lead from one schema to the other; empty if nothing differs.
 * @param connection any Postgres: the engine reads only its version
 * @param from the text of a schema file, null for an empty database
 * @throws Error with the engine's message when a schema is not valid
 */
export async function diffSchemas(connection: pg.PoolConfig, from: string | null, to: string): Promise<string> {
  const engine = await openEngine(connection, to)
  try {
    const { stdout } = await engine.diff({
      from: from === null ? { tag: 'empty' } : datamodel(from),
      to: datamodel(to),
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    })
    const sql = (stdout ?? '').trim()
    return sql === '-- This is an empty migration.' ? '' : sql
  } finally {
    engine.free()
  }
}

const datamodel = (content: string): DiffTarget => ({ tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }] })

async function openEngine(connection: pg.PoolConfig, schema: string): Promise<SchemaEngine> {
  loading ??= load()
  await loading
  const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(connection))
  return bindings.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapter)
}

/** Loaded once: the bindings keep a view of the memory of the first instance. */
let loading: Promise<void> | undefined

/** TypeScript declares it only together with the whole DOM. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, () => void> } }>
}

/** Loaded by hand: importing a .wasm file makes Node 24 print an experimental warning on every run. */
async function load(): Promise<void> {
  const file = fileURLToPath(import.meta.resolve('@prisma/schema-engine-wasm')).replace(/\.js$/, '_bg.wasm')
  const { instance } = await WebAssembly.instantiate(await readFile(file), { './schema_engine_bg.js': bindings })
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start?.()
}
