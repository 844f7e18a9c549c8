/** Prints what Redocly's recommended rules find in the document that is named, a line each; its own program does not install everywhere. */
import { createConfig, lint } from '@redocly/openapi-core'

declare const process: { argv: string[] }
const problems = await lint({ ref: process.argv[2] ?? '', config: await createConfig({ extends: ['recommended'] }) })
for (const { severity, ruleId, message, location } of problems) console.log(`${severity} ${ruleId} ${location[0]?.pointer}: ${message}`)
