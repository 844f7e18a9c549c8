/** What the console knows of files: which have pictures, where these are, and how large they are in words. */
import type { StoredFile } from './kind.ts'

/** The types that the service makes thumbnails of. */
const PICTURES = new Set(['image/jpeg', 'image/png', 'image/apng', 'image/webp', 'image/gif', 'image/avif'])

export const hasThumbnail = ({ type }: StoredFile): boolean => PICTURES.has(type.split(';')[0]?.trim().toLowerCase() ?? '')

export const fileAddress = (path: string): string => `/api/file/${encodeURIComponent(path)}`
export const thumbnailAddress = (path: string, width: 160 | 320 | 640 | 1280): string => `${fileAddress(path)}?w=${width}`

/** `1.5 MB`, in units of 1,024. */
export function sizeText(bytes: number, locale: string): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log(bytes) / Math.log(1024)), units.length - 1)
  const size = bytes / 1024 ** step
  return `${size.toLocaleString(locale, { maximumFractionDigits: size < 10 && step > 0 ? 1 : 0 })} ${units[step]}`
}
