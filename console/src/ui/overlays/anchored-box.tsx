/** A box beside an element or over it, above everything else, so that nothing cuts it off. It stays there while its surroundings scroll. */
import { type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'

/** The least distance to the edges of the window, in pixels. */
const MARGIN = 4

interface Spot {
  left: number
  top: number
  minWidth: number
  maxHeight: number
}

export function AnchoredBox({
  anchor,
  covers = false,
  label,
  className,
  children,
}: {
  anchor: RefObject<HTMLElement | null>
  /** True if the box lies over the anchor and grows from there. */
  covers?: boolean
  /** The name of what the box is for. */
  label: string
  className: string
  children: ReactNode
}) {
  const box = useRef<HTMLDivElement>(null)
  const [spot, setSpot] = useState<Spot | null>(null)

  useLayoutEffect(() => {
    const place = () => {
      if (anchor.current && box.current) setSpot(spotFor(anchor.current.getBoundingClientRect(), box.current, covers))
    }
    place()
    const sizes = new ResizeObserver(place)
    if (box.current) sizes.observe(box.current)
    window.addEventListener('scroll', place, { capture: true, passive: true })
    window.addEventListener('resize', place)
    return () => {
      sizes.disconnect()
      window.removeEventListener('scroll', place, { capture: true })
      window.removeEventListener('resize', place)
    }
  }, [anchor, covers])

  return createPortal(
    // Until it has a place nobody sees it, but it can have the focus.
    <div
      ref={box}
      role="dialog"
      aria-label={label}
      className={`anchored-box ${className}`}
      data-unplaced={spot ? undefined : ''}
      style={spot ?? undefined}
    >
      {children}
    </div>,
    document.body,
  )
}

/** Below the anchor, or over it; above it, or up from its lower edge, where that leaves more room. */
function spotFor(anchor: DOMRect, box: HTMLElement, covers: boolean): Spot {
  const [start, end] = covers ? [anchor.top, anchor.bottom] : [anchor.bottom, anchor.top]
  const [below, above] = [innerHeight - start - MARGIN, end - MARGIN]
  // What is cut off now counts, too.
  const height = Math.max(box.offsetHeight, box.scrollHeight)
  const isBelow = height <= below || below >= above
  const shownHeight = Math.min(height, isBelow ? below : above)
  const width = Math.max(box.offsetWidth, anchor.width)
  return {
    left: Math.max(MARGIN, Math.min(anchor.left, innerWidth - width - MARGIN)),
    top: isBelow ? start : end - shownHeight,
    minWidth: Math.min(anchor.width, innerWidth - 2 * MARGIN),
    maxHeight: isBelow ? below : above,
  }
}
