/** Starts the process of the service (process.ts), after what has to be done before anything else is loaded. */
// Node 24 swaps the prototype of its class AsyncContextFrame when `node:async_hooks` is first imported. If that happens later, V8 discards
// and compiles the code of the class again and again.
import 'node:async_hooks'
import './platform/processes/threads.ts'
import './process.ts'
