/** Whether the service has another release than the one that this tab has loaded. */
import { useSyncExternalStore } from 'react'

const LOOK_EVERY_MS = 60_000
const SCRIPT = /<script type="module"[^>]* src="([^"]+)"/

let isNew = false
let lastLookAt = 0
const listeners = new Set<() => void>()

export const isReleaseNew = (): boolean => isNew

/** Notes that a file of this release is gone, or that the page names others. */
function noteNewRelease(): void {
  if (isNew) return
  isNew = true
  for (const listener of listeners) listener()
}

/** Asks for the page from time to time. */
function look(): void {
  if (!document.hidden && Date.now() - lastLookAt >= LOOK_EVERY_MS / 2) void lookNow()
}

/** Asks for the page, which names the files of its release. Nobody is told if it cannot be asked for. */
async function lookNow(): Promise<void> {
  if (isNew) return
  lastLookAt = Date.now()
  const answer = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-cache' }).catch(() => undefined)
  if (!answer?.ok) return
  const served = SCRIPT.exec(await answer.text())?.[1]
  const loaded = document.querySelector<HTMLScriptElement>('script[type=module][src]')?.getAttribute('src')
  if (served && loaded && served !== loaded) noteNewRelease()
}

/** Looks from time to time, and whenever the person comes back to the tab. */
export function watchRelease(): void {
  lastLookAt = Date.now()
  setInterval(look, LOOK_EVERY_MS)
  document.addEventListener('visibilitychange', look)
  addEventListener('focus', look)
  // A part that is loaded later is not there any more, or cannot be reached.
  addEventListener('vite:preloadError', lookNow)
  // A part may be asked for again and be there, its style is asked for once only.
  document.addEventListener('error', ({ target }) => isStyle(target) && setTimeout(loadAgain, STYLE_AGAIN_MS, target), true)
}

const STYLE_AGAIN_MS = 1000

const isStyle = (target: EventTarget | null): target is HTMLLinkElement => target instanceof HTMLLinkElement && target.rel === 'stylesheet'

/** A style is loaded when its element is put into the page. */
const loadAgain = (style: HTMLLinkElement): void => style.replaceWith(style.cloneNode())

/** Whether a part of the app could not be loaded. It stays so until the page is loaded anew. */
export const isNotLoaded = (error: unknown): boolean =>
  error instanceof Error && /dynamically imported module|importing a module|preload css/i.test(error.message)

/** Loads the page anew, if the service is there. */
export async function reload(): Promise<void> {
  const answer = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-cache' }).catch(() => undefined)
  if (answer?.ok) location.reload()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useIsReleaseNew = (): boolean => useSyncExternalStore(subscribe, isReleaseNew)
