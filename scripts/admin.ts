/** Starts `npm run admin` (admin-program.ts), from the bundle if there is one of these sources. */
import { moduleOf } from '../src/platform/bundle.ts'

await import(moduleOf('admin-program', new URL('./admin-program.ts', import.meta.url)))
