/** The file storage: whether it can be reached, and whether its bytes and the rows of files agree; and the space on the disks. */
import { constants } from 'node:fs'
import { access, opendir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathOfThumbnail } from '../../src/files/thumbnails/thumbnail-keys.ts'
import { bucketConfig } from '../../src/platform/storage/bucket.ts'
import { abandonedIn } from '../backup-staging.ts'
import { counted, type Examined, type ExaminedDatabase, type Finding, findingOf } from './finding.ts'
import { within } from './within.ts'

/** Uploads write the row first, and deletions remove the bytes last. Within this time they may differ. */
const SETTLED_AFTER_MS = 3_600_000
const GB = 2 ** 30

/** The most time for a page of a thousand names. */
const PAGE_MS = 15_000

/** @param options a test waits for a shorter time */
export async function checkStorage(examined: Examined, { pageMs = PAGE_MS }: { pageMs?: number } = {}): Promise<Finding[]> {
  const { storage, storagePrevious } = examined.settings
  let stored: Map<string, Stored>
  try {
    // While files are moved to another storage, each is in one of the two.
    const each = await Promise.all(
      [storage, storagePrevious].flatMap((setting) => (setting === undefined ? [] : listStorage(setting, pageMs))),
    )
    stored = new Map(each.flatMap((files) => [...files]))
  } catch (error) {
    const line = String((error as Error).message).split('\n')[0]
    return [
      {
        check: 'storage.unreachable',
        severity: 'error',
        problem: `The file storage ${storage.split('?')[0]} cannot be used: ${(error as Error).name === 'Error' ? line : `${(error as Error).name}: ${line}`}`,
        advice: storage.startsWith('s3://')
          ? 'Look at STORAGE, the AWS_* variables, and the rights on the bucket: ListBucket, GetObject, PutObject and DeleteObject are needed.'
          : 'Let the account of the service read and write the folder, or set STORAGE to another one.',
      },
    ]
  }
  return compare(stored, await filesOf(examined.database))
}

const listStorage = (setting: string, pageMs: number) =>
  setting.startsWith('s3://') ? listBucket(new URL(setting), pageMs) : listFolder(setting)

interface Stored {
  bytes: number
  changedAt: number
}

async function listFolder(folder: string): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>()
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    // The first upload creates the folder.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await access(await nearest(folder), constants.W_OK | constants.X_OK)
    return stored
  }
  for await (const entry of await opendir(folder, { recursive: true })) {
    if (!entry.isFile()) continue
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => undefined)
    if (found) stored.set(entry.name, { bytes: found.size, changedAt: found.mtimeMs })
  }
  return stored
}

async function listBucket(url: URL, pageMs: number): Promise<Map<string, Stored>> {
  const { ListObjectsV2Command, S3Client } = await import('@aws-sdk/client-s3')
  const s3 = new S3Client({ ...bucketConfig(url), maxAttempts: 1 })
  const stored = new Map<string, Stored>()
  let token: string | undefined
  do {
    const command = new ListObjectsV2Command({ Bucket: url.hostname, ContinuationToken: token })
    const page = await within(pageMs, (abortSignal) => s3.send(command, { abortSignal }))
    for (const { Key, Size, LastModified } of page.Contents ?? [])
      if (Key) stored.set(Key, { bytes: Size ?? 0, changedAt: LastModified?.getTime() ?? 0 })
    token = page.NextContinuationToken
  } while (token)
  return stored
}

interface FileRow {
  path: string
  storage_key: string | null
  is_settled: boolean
}

const filesOf = (database: ExaminedDatabase) =>
  database.rows<FileRow>(`
    select path, storage_key, created_at < localtimestamp - interval '1 hour' as is_settled from public.stored_files order by path`)

function compare(stored: ReadonlyMap<string, Stored>, files: readonly FileRow[]): Finding[] {
  const named = new Set(files.flatMap(({ path, storage_key }) => [path, storage_key ?? path]))
  const lost = files.filter(({ path, storage_key, is_settled }) => is_settled && !stored.has(storage_key ?? path) && !stored.has(path))
  const before = Date.now() - SETTLED_AFTER_MS
  const ownerless = [...stored].filter(([path, { changedAt }]) => !named.has(pathOfThumbnail(path) ?? path) && changedAt < before)
  const bytes = ownerless.reduce((sum, [, file]) => sum + file.bytes, 0)
  return [
    ...findingOf(
      lost.map(({ path }) => path),
      {
        check: 'orphans.files_without_bytes',
        severity: 'error',
        problem: (count) => `The bytes of ${counted(count, 'file')} are missing in the storage`,
        advice: 'Restore them from a backup of the storage; the rows of stored_files name them.',
      },
    ),
    ...findingOf(
      ownerless.map(([path]) => path),
      {
        check: 'orphans.bytes_without_file',
        severity: 'warning',
        problem: (count) => `${counted(count, 'stored file')} (${(bytes / 2 ** 20).toFixed(1)} MB) that no row refers to`,
        advice:
          'They are left by processes that were killed, or the database was restored from an older backup. If it was not, up to 1,000 are deleted each night; more than a tenth of all files never are, because the storage may belong to another database.',
      },
    ),
  ]
}

/** The folder itself, or the nearest one above it that exists. */
async function nearest(folder: string): Promise<string> {
  try {
    await access(folder)
    return folder
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    return nearest(dirname(folder))
  }
}

/** The free space below the folders that the service writes to. A full disk ends the embedded database and every upload. */
export async function checkDisks({ settings: { dataDir, storage } }: Pick<Examined, 'settings'>): Promise<Finding[]> {
  const folders = storage.startsWith('s3://') ? [dataDir] : [dataDir, storage]
  const seen = new Set<number>()
  const findings: Finding[] = []
  for (const folder of folders) {
    const place = await nearest(folder)
    const { dev } = await stat(place)
    if (seen.has(dev)) continue
    seen.add(dev)
    const { bavail, blocks, bsize } = await statfs(place)
    const [free, total] = [bavail * bsize, blocks * bsize]
    if (free >= Math.min(total / 10, 5 * GB)) continue
    findings.push({
      check: 'disk.low',
      severity: free < Math.min(total / 50, GB) ? 'error' : 'warning',
      problem: `The disk of ${folder} has ${(free / GB).toFixed(2)} of ${(total / GB).toFixed(2)} GB left`,
      advice: 'Make room or enlarge the disk; files that nothing uses and old raw mails (KEEP_RAW_MAIL_DAYS) are removed by the service.',
    })
  }
  return findings
}

/** Copies of the database that a killed command has left. Nobody looks after them, and they fill the disk. */
export function checkLeftovers({ settings: { dataDir } }: Pick<Examined, 'settings'>): Finding[] {
  return [
    ...findingOf(abandonedIn(dataDir, 'backup'), {
      check: 'disk.backup_leftovers',
      severity: 'warning',
      problem: (count) => `${counted(count, 'folder')} of a backup that was killed, with a copy of the database`,
      advice: 'Remove what is named, or make another backup, which does so.',
    }),
    ...findingOf(abandonedIn(dataDir, 'restore'), {
      check: 'disk.restore_leftovers',
      severity: 'warning',
      problem: (count) => `${counted(count, 'folder')} of a restore that was killed`,
      advice:
        'If DATA_DIR is complete, remove what is named. Otherwise the previous data are in before-restore-…, and the restore can be repeated.',
    }),
  ]
}
