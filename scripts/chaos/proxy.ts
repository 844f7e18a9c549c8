/** nginx before the web processes, if it is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import { freePort } from '../free-port.ts'

export interface Front {
  /** The address for the next request. */
  url(): string
  stop(): Promise<void>
}

export const hasNginx = (): boolean => spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0

/** Without a proxy, requests go to the web processes in turn. */
export function inTurn(urls: readonly string[]): Front {
  let turn = 0
  return { url: () => urls[turn++ % urls.length] ?? '', stop: async () => {} }
}

/** Starts nginx on a free port. Its files are in the given folder. */
export async function startNginx(urls: readonly string[], dir: string): Promise<Front> {
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  writeFileSync(join(dir, 'nginx.conf'), configuration(urls, dir, port))
  const nginx: ChildProcess = spawn('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf')], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  const isStarted = () => {
    if (nginx.exitCode !== null) throw new Error(`nginx does not start (see ${dir}/error.log)`)
    return fetch(url).then(
      () => true,
      () => false,
    )
  }
  await until(isStarted, `for nginx to start (see ${dir}/error.log)`)
  return {
    url: () => url,
    async stop() {
      if (nginx.exitCode !== null) return
      const ended = once(nginx, 'exit')
      nginx.kill('SIGQUIT')
      await Promise.race([ended, sleep(2_000)])
      nginx.kill('SIGTERM')
      await ended
    },
  }
}

/** A request goes to the other server only if it has not reached the first: nginx repeats no POST. */
const configuration = (urls: readonly string[], dir: string, port: number): string => `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${dir}/nginx.pid;
error_log ${dir}/error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  upstream gridpost {
${urls.map((url) => `    server ${new URL(url).host} max_fails=0;`).join('\n')}
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 70m;
    location / {
      proxy_pass http://gridpost;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_connect_timeout 2s;
      proxy_read_timeout 60s;
      proxy_buffering off;
      proxy_request_buffering off;
    }
  }
}
`
