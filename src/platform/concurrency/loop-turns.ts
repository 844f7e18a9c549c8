/**
 * Lets requests go before the bytes of uploads. Both share one event loop and often one processor: ten uploads at once would keep every
 * short request waiting behind a chunk of each of them. The state belongs to the process, because the event loop does.
 */
import { type Entry, LinkedList } from '../collections/linked-list.ts'

/** A chunk waits this long for requests in progress, so that uploads always make progress: at least 50 MB/s with chunks of 64 KB. */
const PATIENCE_MS = 1
/** A request that takes longer waits for something else, such as a slow statement or its own body, and uploads need not wait for it. */
const SHORT_MS = 100

/** The beginnings of the requests in progress. */
const requests = new LinkedList<number>()
/** The chunks that wait for their turn. */
const waiting: (() => void)[] = []

/** Counts a request as in progress, until it ends or is not short any more. */
export function requestBegins(): Entry<number> {
  // Nobody says that a request has ended whose caller has hung up, and without uploads nobody would look.
  keepShortRequests()
  return requests.add(performance.now())
}
export const requestEnds = (request: Entry<number>): void => requests.remove(request)

/**
 * Waits until the next chunk of an upload may be handled: in a turn of the event loop without another chunk, and after the requests in
 * progress, up to a limit.
 */
export function chunkTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) nextTurn()
  })
}

/** A chunk waits in full, even if the requests end sooner: a caller who sends one after another would meet a chunk in each gap. */
function nextTurn(): void {
  if (keepShortRequests()) setTimeout(takeTurn, PATIENCE_MS)
  else setImmediate(takeTurn)
}

function takeTurn(): void {
  waiting.shift()?.()
  if (waiting.length) nextTurn()
}

/** Forgets the requests that are not short any more. @returns whether one is left */
function keepShortRequests(): boolean {
  const begin = performance.now() - SHORT_MS
  for (const request of requests) {
    if (request.item > begin) return true
    requests.remove(request)
  }
  return false
}
