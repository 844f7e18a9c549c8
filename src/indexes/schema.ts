import { z } from 'zod'

export const TableIndex = z
  .object({
    name: z.string().meta({ description: 'The name in PostgreSQL.' }),
    fields: z.array(z.string()).meta({ description: 'Ids of fields, in the order of the index.' }),
    reason: z.string().meta({ description: 'The views and queries that use the index.' }),
    state: z.enum(['ready', 'building', 'failed', 'over_budget']).meta({
      description:
        'building: it is being built or waits to be. failed: the build failed and will be repeated. over_budget: it would be useful, ' +
        'but the table has its maximum number of more important indexes, so it is not built.',
    }),
    size: z.int().meta({ description: 'Bytes on disk.' }),
  })
  .meta({ id: 'TableIndex', description: 'An index on the records of a table.' })
export type TableIndex = z.infer<typeof TableIndex>
