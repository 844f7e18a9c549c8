/** The further forms of an upload in the OpenAPI document: a form, and a PUT with the bytes. */
import type { RestProcedure } from '../procedures/rest.ts'
import type { Operation } from './errors.ts'

type Properties = Record<string, { description?: string }>

/** Adds the form to the operation with JSON. */
export function addForm(operation: Operation): void {
  const content = operation.requestBody?.content
  const json = content?.['application/json']
  if (!content || !json) throw new Error(`${operation.operationId} takes no JSON`)
  const { id, properties, required } = json.schema as { id?: string; properties: Properties; required: string[] }
  const { data: _, ...others } = properties
  // A file of a form has a name and a type of its own.
  const needed = ['file', ...required.filter((key) => key !== 'data' && key !== 'name')]
  const file = {
    type: 'string',
    format: 'binary',
    description: 'The file. Parts called `name` and `type` replace its own name and media type.',
  }
  content['multipart/form-data'] = {
    schema: {
      ...(id !== undefined && { id: `${id}Form`, description: 'A file as a part of a form; the other parts are as in JSON.' }),
      ...{ type: 'object', properties: { file, ...others }, required: needed, additionalProperties: false },
    },
  }
}

/** The operation that takes the bytes of the file as its body. */
export function bytesOperation(operation: Operation, { name }: RestProcedure): Operation {
  const { properties, required } = operation.requestBody?.content['application/json']?.schema as {
    properties: Properties
    required: string[]
  }
  const query = Object.entries(properties).filter(([key]) => key !== 'data')
  return {
    ...operation,
    operationId: `${name}.put`,
    summary: `${operation.summary}, sent as bytes`,
    description:
      `${operation.description} The body is the file; its media type is the Content-Type, its name that of Content-Disposition ` +
      '(`filename*` in UTF-8, or `filename`). Query parameters replace them. An Idempotency-Key recognises the same file in every form.',
    parameters: [
      ...(operation.parameters ?? []),
      ...query.map(([key, schema]) => ({
        name: key,
        in: 'query',
        required: key !== 'name' && required.includes(key),
        description: schema.description ?? `The same as \`${key}\` in JSON.`,
        schema: { type: 'string' },
      })),
      {
        name: 'Content-Disposition',
        in: 'header',
        required: false,
        description: 'Names the file.',
        schema: { type: 'string' },
        example: 'attachment; filename="offer.txt"',
      },
    ],
    requestBody: { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } },
  }
}
