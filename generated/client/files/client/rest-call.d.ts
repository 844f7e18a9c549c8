export interface Transport {
    baseUrl: string;
    /** Asked for each request. */
    headers: () => Record<string, string>;
    /** By default the `fetch` of the environment. */
    fetch: typeof globalThis.fetch | undefined;
}
/** Values for the places of a path and for the query. Those that are null or undefined are left out. */
export type Input = object;
/** The path with its places filled from the input, the rest of which becomes the query. */
export declare function addressOf(path: string, input: Input): string;
export interface DownloadOptions {
    /** Ends the download. */
    signal?: AbortSignal;
    /** The bytes from `start` to `end`, both included; without `end` to the last one. */
    range?: {
        start: number;
        end?: number;
    };
}
/**
 * Asks for bytes.
 * @returns the answer once its headers are there. Its body is read as a stream, or by `text()`, `blob()` and the like
 * @throws TRPCClientError with the body of the error in `data`; without `data` if the service did not answer
 */
export declare function download({ baseUrl, headers, fetch }: Transport, path: string, input: Input, { signal, range }?: DownloadOptions): Promise<Response>;
export interface Answer {
    status: number;
    text: string;
}
/** Returns the answer of a successful upload, a list as `rows`. @throws TRPCClientError with the REST error in the form of an RPC error */
export declare function resultOf({ status, text }: Answer): unknown;
