/**
 * Imports and exports of the typed client. The file runs in browsers and in Node, so it imports nothing of the server;
 * test/client-transfers.test.ts compares its types with the schemas.
 */
import { download } from '../files/client/rest-call.js';
import { sendBytes, typeOf } from '../files/client/upload-request.js';
const CSV = 'text/csv';
const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
export const importCsv = (transport, input, file, options = {}) => sendFile(transport, '/api/table/{table_id}/import', input, file, options);
export const importTable = (transport, { fields, ...input }, file, options = {}) => sendFile(transport, '/api/space/{space_id}/tables/import', { ...input, ...(fields && { fields: JSON.stringify(fields) }) }, file, options);
/** Asks for the records as CSV, with the file name in Content-Disposition. */
export const exportCsv = (transport, { conditions, ...input }, options) => download(transport, '/api/table/{table_id}/export.csv', { ...input, ...(conditions && { conditions: JSON.stringify(conditions) }) }, options);
function sendFile(transport, path, input, file, options) {
    const bytes = typeof file === 'string' ? new Blob([file]) : file;
    return sendBytes(transport, { method: 'POST', path, input }, bytes, options, () => ({ 'content-type': mediaTypeOf(bytes) }));
}
/** Browsers name CSV files by the programs that open them, so any other type than that of a workbook stands for CSV. */
function mediaTypeOf(file) {
    const type = typeOf(file);
    const isWorkbook = type.startsWith(WORKBOOK) || ('name' in file && /\.xlsx$/i.test(file.name ?? ''));
    return isWorkbook ? WORKBOOK : /^text\/csv\s*(;|$)/i.test(type) ? type : CSV;
}
