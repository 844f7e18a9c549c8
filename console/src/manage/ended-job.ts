/** Follows a job of the service until it has ended. */
import type { Client } from '../cells/kind.ts'
import { isForNow } from '../grid/edits/failures.ts'

export type Job = Awaited<ReturnType<Client['jobs']['get']['query']>>

const POLL_MS = 500
const POLL_WITHOUT_ANSWER_MS = 3_000

/**
 * Asks for the job until it has ended. A job goes on while the connection is lost, so it is asked for again.
 * @throws the client's error if the job may not be read any more, and AbortError
 */
export async function ended(client: Client, job_id: number, tell: (job: Job) => void, signal?: AbortSignal): Promise<Job> {
  for (;;) {
    signal?.throwIfAborted()
    const job = await client.jobs.get.query({ job_id }, signal ? { signal } : {}).catch((error: unknown) => {
      if (signal?.aborted || !isForNow(error)) throw error
      return null
    })
    if (job && job.state !== 'running' && job.state !== 'checking') return job
    if (job) tell(job)
    await new Promise((resolve) => setTimeout(resolve, job ? POLL_MS : POLL_WITHOUT_ANSWER_MS))
  }
}
