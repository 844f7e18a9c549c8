/** Parts of a page that are loaded when they are first shown: dialogs, menus, calendars. */
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react'
import { sessionTexts } from '../texts/session.ts'
import { toast } from './toasts/toasts.ts'

interface Loading {
  /** What is there while the part is loaded. */
  fallback?: ReactNode
  /** Called if it cannot be loaded; without it `close` is, and a part that has none is loaded again until it is there. */
  failed?: (() => void) | undefined
}

const AGAIN_MS = 3_000

/**
 * A part that leaves the page as it is if it cannot be loaded, says so, and tries again when it is shown the next time. (React's `lazy`
 * keeps the failure, and gives the whole page up.)
 */
export function lazyPart<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props & Loading> {
  let loaded: ComponentType<Props> | undefined
  return function LazyPart({ fallback = null, failed, ...props }: Props & Loading) {
    const [Shown, setShown] = useState(() => loaded)
    const whenFailed = useRef<(() => void) | undefined>(undefined)
    whenFailed.current = failed ?? ('close' in props && typeof props.close === 'function' ? (props.close as () => void) : undefined)
    useEffect(() => {
      let timer: ReturnType<typeof setTimeout> | undefined
      let isShown = true
      const show = (part: ComponentType<Props>) => {
        loaded = part
        if (isShown) setShown(() => part)
      }
      const refuse = () => {
        if (!isShown) return
        if (!whenFailed.current) {
          timer = setTimeout(begin, AGAIN_MS)
          return
        }
        toast(sessionTexts.unreachable)
        whenFailed.current()
      }
      function begin() {
        load().then((part) => show(part.default), refuse)
      }
      if (loaded) show(loaded)
      else begin()
      return () => {
        isShown = false
        clearTimeout(timer)
      }
    }, [load])
    return Shown ? <Shown {...(props as unknown as Props)} /> : fallback
  }
}
