/** Says something to those who cannot see the page, as soon as they are not listening to anything else. */
let region: HTMLElement | undefined

/** @param text a sentence; the same one twice is said twice */
export function announce(text: string): void {
  region ??= createRegion()
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
}

function createRegion(): HTMLElement {
  const element = document.createElement('div')
  element.className = 'visually-hidden'
  element.setAttribute('role', 'status')
  element.setAttribute('aria-live', 'polite')
  // A dialog hides everything else from screen readers, except what has this mark.
  element.dataset.liveAnnouncer = 'true'
  document.body.append(element)
  return element
}
