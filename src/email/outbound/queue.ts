import { z } from 'zod'
import { defineQueue } from '../../platform/jobs/queue.ts'

const Email = z.object({ comment_id: z.int() })

/** Wakes a worker for a new email, and for a retry. The email itself is found by its `due_at`, so a lost job only delays it by a second. */
export const sendEmail = defineQueue({ name: 'email.send', schema: Email })
