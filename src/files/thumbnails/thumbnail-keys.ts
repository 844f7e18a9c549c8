/**
 * Where thumbnails are: in the storage of the files, under keys that no file has, because the path of a file begins with a number or with
 * the word of its place. They have no rows. One whose file is gone may be deleted at any time, and so may any other: it is made again.
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

/** The path of the file that the key is a thumbnail of; undefined if it is the key of none. */
export const pathOfThumbnail = (key: string): string | undefined => KEY.exec(key)?.[1]
