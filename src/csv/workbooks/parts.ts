/** The parts of a workbook. Writers name and place them as they like, and relationships say which is which (ECMA-376 part 2, 6.5). */
import { posix } from 'node:path'
import { type Archive, UnreadableArchive } from './archive.ts'
import { type Attributes, prefixed, readXml } from './xml.ts'

interface Relationship {
  id: string
  /** The last word of its type, which strict workbooks write into another namespace. */
  kind: string
  /** The path of the part in the archive. */
  path: string
}

/** The relationships of a part. @param part '' for those of the whole file */
async function relationshipsOf(archive: Archive, part: string): Promise<Relationship[]> {
  const path = posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`)
  const found: Relationship[] = []
  if (!archive.has(path)) return found
  await readXml(archive.read(path), {
    open(name, { Id = '', Type = '', Target = '', TargetMode }) {
      if (name !== 'Relationship' || TargetMode === 'External') return
      found.push({ id: Id, kind: Type.slice(Type.lastIndexOf('/') + 1), path: targetOf(archive, part, Target) })
    },
  })
  return found
}

/** A target is relative to the folder of its part, or absolute in the archive. Some writers encode it as a URL, and some do not. */
function targetOf(archive: Archive, part: string, target: string): string {
  const path = posix.join('/', target.startsWith('/') ? '' : posix.dirname(part), target.replaceAll('\\', '/')).slice(1)
  if (archive.has(path)) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

export interface Sheet {
  name: string
  isHidden: boolean
  path: string
}

export interface Workbook {
  sheets: Sheet[]
  /** True if day 0 is the first of January 1904. */
  is1904: boolean
  /** The paths of the parts that a workbook need not have. */
  styles: string | undefined
  strings: string | undefined
}

const DEFAULT_PATH = 'xl/workbook.xml'

/** @throws UnreadableArchive for an archive that is no workbook */
export async function readWorkbook(archive: Archive): Promise<Workbook> {
  const path = (await relationshipsOf(archive, '')).find(({ kind }) => kind === 'officeDocument')?.path ?? DEFAULT_PATH
  if (path.endsWith('.bin')) throw new UnreadableArchive('is a binary workbook (.xlsb); save it as XLSX')
  const related = await relationshipsOf(archive, path)
  const pathOf = (kind: string) => related.find((one) => one.kind === kind && archive.has(one.path))?.path
  const listed: Attributes[] = []
  let is1904 = false
  await readXml(archive.read(path), {
    open(name, attributes) {
      if (name === 'sheet') listed.push(attributes)
      if (name === 'workbookPr') is1904 = /^(1|true|on)$/.test(attributes.date1904 ?? '')
    },
  })
  const byId = new Map(related.map((one) => [one.id, one]))
  const sheets = listed.flatMap((attributes): Sheet[] => {
    const part = byId.get(prefixed(attributes, 'id') ?? '')
    // Sheets of charts and of dialogs have no cells.
    if (part?.kind !== 'worksheet') return []
    return [{ name: attributes.name ?? '', isHidden: /hidden/i.test(attributes.state ?? ''), path: part.path }]
  })
  return { sheets, is1904, styles: pathOf('styles'), strings: pathOf('sharedStrings') }
}

/** @param name by default the first sheet that is shown; the first of all if none is */
export const chosenSheet = ({ sheets }: Workbook, name: string | undefined): Sheet | undefined =>
  name === undefined ? (sheets.find(({ isHidden }) => !isHidden) ?? sheets[0]) : sheets.find((sheet) => sheet.name === name)
