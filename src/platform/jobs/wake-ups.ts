/**
 * Chooses the worker of a queue that looks for jobs when a NOTIFY announces new ones. pg-boss would wake all workers, and a fetch that
 * finds nothing costs PostgreSQL as much as one that finds jobs.
 */

/** A worker that only takes jobs of priority 0 or above looks for jobs once all others have been working for this time. */
export const RESERVED_AFTER_MS = 50

interface Worker {
  wake(): void
  isReserved: boolean
  /** Whether it works on jobs. Otherwise it sleeps, fetches jobs or records their results, and fetches after that if it was woken. */
  isWorking: boolean
  /** How often it was woken since it last began to work. */
  wakes: number
}

export interface WorkerWakeUps {
  /** Called when the worker has fetched jobs. @param isFull whether it has fetched as many as it can take */
  began(isFull: boolean): void
  /** Called when its jobs have ended. */
  ended(isFull: boolean): void
}

/** The workers of a queue in this process. */
export class WakeUps {
  readonly #workers: Worker[] = []
  /** Whether jobs may wait that no worker has looked for, because all that take jobs of any priority worked. */
  #isAnyLeft = false
  #timer: NodeJS.Timeout | undefined

  /** @param wake makes the worker fetch jobs, at once or after those that it works on */
  add(wake: () => void, { isReserved }: { isReserved: boolean }): WorkerWakeUps {
    const worker: Worker = { wake, isReserved, isWorking: false, wakes: 0 }
    this.#workers.push(worker)
    return {
      began: (isFull) => {
        // A second wake-up may be of a job that was committed after the fetch.
        const mayLeave = isFull || worker.wakes > 1
        worker.isWorking = true
        worker.wakes = 0
        if (mayLeave) this.lookForJobs()
      },
      ended: (isFull) => {
        worker.isWorking = false
        if (!isReserved && (isFull || this.#isAnyLeft)) this.#wake(worker)
        else if (this.#isAnyLeft) this.#wakeReservedLater()
      },
    }
  }

  /** Wakes a worker, because jobs may wait. */
  lookForJobs(): void {
    const idle = this.#workers.filter(({ isReserved, isWorking }) => !isReserved && !isWorking)
    const next = idle.find(({ wakes }) => !wakes) ?? idle[0]
    if (next) this.#wake(next)
    else {
      this.#isAnyLeft = true
      this.#wakeReservedLater()
    }
  }

  #wake(worker: Worker): void {
    worker.wakes++
    if (!worker.isReserved) this.#isAnyLeft = false
    worker.wake()
  }

  #wakeReservedLater(): void {
    if (this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const reserved = this.#workers.find(({ isReserved, isWorking }) => isReserved && !isWorking)
      if (this.#isAnyLeft && reserved) this.#wake(reserved)
    }, RESERVED_AFTER_MS).unref()
  }
}
