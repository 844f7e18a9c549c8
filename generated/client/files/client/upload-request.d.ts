import { type Input, type Transport } from './rest-call.js';
/** The bytes of a file. A stream is read once: Node's (`createReadStream`), the web's (`response.body`), or any iterable of bytes. */
export type FileContent = Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
/** Bytes with what is known of them. */
export interface Content {
    content: FileContent;
    type?: string | undefined;
    size?: number | undefined;
}
/** A file with its name, such as the `File` of a browser's file input. */
export type UploadedContent = File | (Content & {
    name: string;
});
export interface TransferOptions {
    /** Called while the bytes are sent, and a last time when all of them have been. `total` is null for a stream of unknown size. */
    onProgress?: (progress: {
        sent: number;
        total: number | null;
    }) => void;
    /** Ends the upload. Nothing of it is kept. */
    signal?: AbortSignal;
}
export interface UploadOptions extends TransferOptions {
    /** The same upload with the same key within a day is stored once. */
    idempotencyKey?: string;
}
/** The uploads by the name of their procedure, with the path of the operation. Input that is not in the path goes into the query. */
export declare const UPLOAD_PATHS: {
    readonly 'files.create': '/api/table/{table_id}/record/{record_id}/files/create';
    readonly 'comments.upload': '/api/table/{table_id}/record/{record_id}/comments/upload';
    readonly 'tasks.upload': '/api/task/{task_id}/upload';
    readonly 'tasks.comments.upload': '/api/task/{task_id}/comments/upload';
    readonly 'tasks.stage': '/api/tasks/upload';
    readonly 'tasks.stageOnRecord': '/api/tasks/onRecord/{table_id}/{record_id}/upload';
};
export type UploadName = keyof typeof UPLOAD_PATHS;
/**
 * Uploads a file.
 * @returns the answer of the procedure: a list as `rows`
 * @throws TRPCClientError with the body of the error in `data`; without `data` if the upload was aborted or the service did not answer
 */
export declare function upload(transport: Transport, name: UploadName, input: Input, file: UploadedContent, { idempotencyKey, ...options }: UploadOptions): Promise<unknown>;
/** The media type of a file, or '' if it has none. */
export declare function typeOf(file: FileContent | Content): string;
/**
 * Sends bytes as the body of a request.
 * @param headersOf the headers of the request; a name that cannot be sent fails as the request does
 * @throws as `upload`
 */
export declare function sendBytes({ baseUrl, headers, fetch }: Transport, { method, path, input }: {
    method: 'PUT' | 'POST';
    path: string;
    input: Input;
}, file: FileContent | Content, { onProgress, signal }: TransferOptions, headersOf: () => Record<string, string>): Promise<unknown>;
