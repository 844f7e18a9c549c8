/** A bucket server on the loopback; the package comes without types. */
declare module 's3rver' {
  import type { AddressInfo } from 'node:net'

  export interface Options {
    port: number
    address: string
    silent: boolean
    directory: string
    configureBuckets: { name: string; configs: string[] }[]
  }

  class S3rver {
    constructor(options: Options)
    run(): Promise<AddressInfo>
    close(): Promise<void>
  }
  // biome-ignore lint/style/noDefaultExport: it is how the package exports it.
  export default S3rver
}
