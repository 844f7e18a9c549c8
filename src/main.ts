/** Starts the process of the service (process.ts), from the bundle if there is one of these sources. */
import './platform/threads.ts'
import { moduleOf } from './platform/bundle.ts'

await import(moduleOf('process', new URL('./process.ts', import.meta.url)))
