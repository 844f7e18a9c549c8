/** Parts of pages that are loaded when they are first shown, or before. */
import { type ComponentType, useState } from 'react'
import { lazyPart } from './lazy-part.tsx'

/**
 * A part that is there at once if it was loaded before, and can be loaded before it is shown.
 */
export function loadedPart<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let loaded: ComponentType<Props> | undefined
  const preload = async () => {
    loaded ??= await load()
    return loaded
  }
  const Later = lazyPart<Props>(async () => ({ default: await preload() }))
  function Part(props: Props) {
    // The same one as long as it is shown: another would begin anew.
    const [Shown] = useState(() => loaded ?? Later)
    return <Shown {...props} />
  }
  return { Part, preload }
}
