/**
 * More threads for calls of the file system, DNS and cryptography than the four that libuv has by default: a file storage that hangs keeps
 * some of them. It is imported before every other module of ours, because the pool is made with the first of these calls.
 */
process.env.UV_THREADPOOL_SIZE ??= '16'
