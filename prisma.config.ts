import type { PrismaConfig } from 'prisma-cli'

export default { schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } } satisfies PrismaConfig
