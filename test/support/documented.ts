/** Holds the answers that tests get over REST against openapi.json: the status, the media type and the body. */
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'

interface Response {
  $ref?: string
  content?: Record<string, { schema: object }>
}
type Operation = { responses: Record<string, Response> }

// Reading the file costs a tenth of generating the document, in each file of tests; test/app.test.ts compares both.
const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Response> }
}
/** The document's own name for itself, by which a schema of it is found. */
const ID = 'https://gridpost.invalid/openapi.json'
// To optimize the code of a schema takes as long as to write it, and few schemas check a thousand answers.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, code: { optimize: false } })
ajv.addSchema(document, ID)

/** A path with its pattern; paths without parameters come first, so that `/api/task/list` is not taken for a task. */
const routes = Object.keys(document.paths)
  .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  .sort((a, b) => a.path.split('{').length - b.path.split('{').length)

const escaped = (segment: string) => encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))

/**
 * Says how an answer differs from the document; undefined if it does not. Paths and methods that the document lacks are not looked at.
 * @param path with its query string
 */
export function undocumented(
  method: string,
  path: string,
  answer: { status: number; mediaType: string; body: unknown },
): string | undefined {
  const [bare = ''] = path.split('?')
  const route = routes.find(({ pattern }) => pattern.test(bare))?.path
  const operation = route && document.paths[route]?.[method.toLowerCase()]
  if (!operation) return undefined
  const at = `${method} ${route}: ${answer.status}`
  const response = operation.responses[String(answer.status)]
  if (!response) return `${at} is not documented, only ${Object.keys(operation.responses).join(', ')}`
  return wrongContent(at, response, pointerOf(route, method, answer.status, response), answer)
}

function pointerOf(route: string, method: string, status: number, response: Response): string {
  return response.$ref?.slice(1) ?? `/paths/${escaped(route)}/${method.toLowerCase()}/responses/${status}`
}

function wrongContent(at: string, response: Response, pointer: string, { mediaType, body }: { mediaType: string; body: unknown }) {
  const name = response.$ref?.split('/').at(-1)
  const content = name ? document.components.responses[name]?.content : response.content
  if (!content) return body === '' ? undefined : `${at} has a body, the document has none`
  if (!content[mediaType]) return content['*/*'] ? undefined : `${at} is ${mediaType}, in the document ${Object.keys(content).join(', ')}`
  if (mediaType !== 'application/json') return undefined
  const ref = `${ID}#${pointer}/content/${escaped(mediaType)}/schema`
  const validate = ajv.getSchema(ref) ?? ajv.compile({ $ref: ref })
  return validate(body)
    ? undefined
    : `${at} does not match its schema: ${problems(validate.errors ?? [])}\n${JSON.stringify(body)?.slice(0, 500)}\nIs openapi.json up to date? npm run openapi`
}

/** The texts of the validator, with the keys that the schema does not have. */
const problems = (errors: readonly ErrorObject[]) =>
  errors
    .map(({ instancePath, message, params }) => [`body${instancePath}`, message, params.additionalProperty].filter(Boolean).join(' '))
    .join(', ')
