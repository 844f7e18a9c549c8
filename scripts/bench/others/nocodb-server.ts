/** Runs in the folder where NocoDB is installed: the npm package is a library and has no command to start it. */
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'

type App = RequestListener & { use(middleware: unknown): void }

const need = createRequire(join(process.cwd(), 'package.json'))
const app = (need('express') as () => App)()
const { Noco } = need('nocodb') as { Noco: { init(options: object, server: unknown, app: App): Promise<unknown> } }
const server = createServer(app)
server.listen(Number(process.env.PORT), process.env.HOST, async () => {
  app.use(await Noco.init({}, server, app))
})
