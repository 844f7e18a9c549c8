/** Builds the console, and serves it to a developer with hot reload (`npm run console`). */
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin, type UserConfig } from 'vite'

/** The service that a developer's server asks: the one that `npm start` runs, or another. */
const SERVICE = process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000'
/** Everything of the service but the console, and what Vite itself serves. */
const OF_SERVICE = '^/(?:trpc|api|docs|dev|email|webhooks|invite|reset|forgot|confirm|unsubscribe|openapi\\.json|client\\.tgz)(?:[/?]|$)'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig(
  async ({ command }): Promise<UserConfig> => ({
    root: at('.'),
    // A developer's server has the page at `/`, as the service does.
    base: command === 'build' ? '/console/' : '/',
    cacheDir: at('../node_modules/.vite/console'),
    resolve: {
      // An installation without development packages lacks the link in node_modules.
      alias: { 'gridpost-client': at('../generated/client/client.js') },
    },
    // The build needs none: it compiles JSX by itself.
    plugins: command === 'build' ? [styleId] : [(await import('@vitejs/plugin-react')).default()],
    server: { proxy: { [OF_SERVICE]: { target: SERVICE } } },
    build: {
      outDir: at('./dist'),
      emptyOutDir: true,
      assetsDir: '.',
      // Every asset is a file with a hash, so that none is a data: URL in a script.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // Those that know light-dark() and nesting, which would be written in another way for older ones.
      target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
      rolldownOptions: {
        onLog(level, log, print) {
          // Directives such as 'use client' are for servers that render React.
          if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log)
        },
      },
    },
  }),
)

/** Keeps the id of the stylesheet of index.html, which Vite replaces by a link of its own. */
const styleId: Plugin = {
  name: 'style-id',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<link rel="stylesheet"', '<link id="react-aria-pressable-style" rel="stylesheet"'),
  },
}
