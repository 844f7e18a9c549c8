/** Starts the process of the service (process.ts), from the bundle if there is one of these sources. */
// Node 24 swaps the prototype of its class AsyncContextFrame when `node:async_hooks` is first imported. When that happened later, V8 compiled the class
// again and again in each of several processes, because it discarded every result: a tenth of the CPU time of a short request.
import 'node:async_hooks'
import './platform/threads.ts'
import { moduleOf } from './platform/bundle.ts'

await import(moduleOf('process', new URL('./process.ts', import.meta.url)))
