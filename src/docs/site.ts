/** All pages below /docs except for the reference, which are loaded and rendered when they are first asked for. */
import { beginning, type Visit } from './beginning.ts'
import { groupsOf, picturePaths, readDocFiles, readPicture } from './doc-files.ts'
import { docPage, type Library, listPage, missingPage, searchPage } from './page.ts'
import { type ApiDocument, areasOf } from './reference.ts'
import { operationSections, search, sectionsOf } from './search.ts'
import type { Shown } from './shell.ts'

export interface Site {
  start(visit: Visit): Shown
  list(): Shown
  search(query: string): Shown
  /** The page of this name; undefined if there is none. */
  page(name: string): Shown | undefined
  missing(name: string): Shown
  /** The bytes of an SVG or PNG beside the pages, such as `benchmarks/growth.svg`; undefined if there is none. */
  picture(name: string): Promise<Buffer> | undefined
}

export async function openSite(document: ApiDocument): Promise<Site> {
  const files = await readDocFiles()
  const library: Library = { files, groups: groupsOf(files), pictures: await picturePaths() }
  const areas = areasOf(document)
  const sections = [...files.flatMap(sectionsOf), ...operationSections(areas)]
  const shown = new Map<string, Shown>()
  return {
    start: (visit) => beginning(areas, library, visit),
    list: () => listPage(library),
    search: (query) => searchPage(query, search(sections, query)),
    page(name) {
      const file = files.find((one) => one.name === name)
      if (file && !shown.has(name)) shown.set(name, docPage(file, library))
      return shown.get(name)
    },
    missing: missingPage,
    picture: (name) => (library.pictures.includes(`docs/${name}`) ? readPicture(`docs/${name}`) : undefined),
  }
}
