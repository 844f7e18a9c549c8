import { useEffect, useRef, useState } from 'react'

export interface Searched<One> {
  found: readonly One[]
  isBusy: boolean
  /** What the service said if it did not answer. */
  problem: string | null
}

/** How long the typing has to rest before the service is asked. */
const REST_MS = 150

/**
 * What the service finds for a text while it is typed. What was found before stays until the next answer; a search that is outdated ends.
 */
export function useSearch<One>(text: string, search: (text: string, signal: AbortSignal) => Promise<readonly One[]>): Searched<One> {
  const [{ of, ...searched }, setSearched] = useState<Searched<One> & { of: string | null }>({
    of: null,
    found: [],
    isBusy: true,
    problem: null,
  })
  const latest = useRef(search)
  latest.current = search
  const isFirst = useRef(true)

  useEffect(() => {
    const ending = new AbortController()
    const ask = async () => {
      isFirst.current = false
      try {
        const found = await latest.current(text, ending.signal)
        if (!ending.signal.aborted) setSearched({ of: text, found, isBusy: false, problem: null })
      } catch (error) {
        if (!ending.signal.aborted)
          setSearched({ of: text, found: [], isBusy: false, problem: error instanceof Error ? error.message : String(error) })
      }
    }
    const timer = setTimeout(ask, isFirst.current ? 0 : REST_MS)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }, [text])

  return { ...searched, isBusy: of !== text }
}
