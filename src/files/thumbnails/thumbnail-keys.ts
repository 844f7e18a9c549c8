/**
 * The keys of thumbnails in the storage of the files. No file has such a key, because its path begins with a number, `task-` or `staged-`.
 * Thumbnails have no rows. Each may be deleted at any time, because it is made again when it is needed.
 */
export const WIDTHS = [160, 320, 640, 1280] as const

export type ThumbnailWidth = (typeof WIDTHS)[number]

/** What the keys of all thumbnails begin with. */
export const THUMBNAIL_PREFIX = 'thumb-'

const KEY = /^thumb-\d+-(.+)$/

/** The key of the thumbnail in the storage. */
export const thumbnailKey = (path: string, width: ThumbnailWidth): string => `${THUMBNAIL_PREFIX}${width}-${path}`

/** The keys of all thumbnails that the file may have. */
export const thumbnailKeys = (path: string): string[] => WIDTHS.map((width) => thumbnailKey(path, width))

/** The path of the file to which the thumbnail with the key belongs; undefined if no thumbnail has such a key. */
export const pathOfThumbnail = (key: string): string | undefined => KEY.exec(key)?.[1]
