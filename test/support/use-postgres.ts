/** A process that uses the embedded database of the given folder until its input ends. Tests start and kill it. */
import { openEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'

const postgres = await openEmbeddedPostgres({ dataDir: process.argv[2] ?? '', settings: { fsync: 'off' } })
console.log('open')
process.stdin.resume().on('end', async () => {
  await postgres.leave()
  process.exit()
})
