/**
 * Prints what happens to tasks, as it happens, until Ctrl-C. The client reconnects on its own and continues after the
 * last event; after `reset` a program must read again what it shows.
 *
 *   GRIDPOST_KEY=gp_… npx node examples/live-tasks.ts
 */
import { createClient } from 'gridpost-client' // npm install http://127.0.0.1:3000/client.tgz

const client = createClient({ baseUrl: process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000', apiKey: process.env.GRIDPOST_KEY ?? '' })

const subscription = client.events.subscribe(
  {},
  {
    onData: ({ data: event }) => {
      if (event.type === 'ready') console.log('Listening')
      else if (event.type === 'reset') console.log('Events were missed; read your lists again')
      else if (event.type === 'task.deleted') console.log(`${event.at}  ${event.type}  task ${event.task_id}`)
      else if ('task_id' in event && event.task_id) void show(event.type, event.at, event.task_id)
    },
    onError: (error) => {
      console.error(`The stream has ended: ${error.message}`)
      process.exitCode = 1
    },
  },
)
process.once('SIGINT', () => subscription.unsubscribe())

/** An event says what changed and where; the current state is read with its ids. */
async function show(type: string, at: string, task_id: number): Promise<void> {
  const task = await client.tasks.get.query({ task_id }).catch((error: Error) => error)
  console.log(`${at}  ${type}  ${task instanceof Error ? task.message : `${task.title} (${task.status})`}`)
}
