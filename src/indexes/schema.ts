import { z } from 'zod'

export const TableIndex = z
  .object({
    name: z.string(),
    fields: z.array(z.string()).meta({ description: 'Ids of fields, in the order of the index.' }),
    reason: z.string().meta({ description: 'What it is for: which views want it.' }),
    state: z.enum(['ready', 'building', 'failed', 'over_budget']).meta({
      description:
        'building: it is built or about to be. failed: it could not be built and will be tried again. over_budget: it would be ' +
        'useful, but others come first; it is not built.',
    }),
    size: z.int().meta({ description: 'Bytes on disk.' }),
  })
  .meta({ id: 'TableIndex', description: 'An index on the records of a table.' })
export type TableIndex = z.infer<typeof TableIndex>
