import { pipeline } from 'node:stream/promises'
import { openInside } from '../../../app/view/trial-dir-files.ts'
import { askedTrialDir, textOf, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB/trials/TRIAL/raw?path=`: a file for download; a browser must never render it. */
export const raw: ViewRoute = async (asked) => {
  const { response, message, query, signal } = asked
  const path = textOf(query, 'path')
  const file = await openInside(await askedTrialDir(asked), path)
  try {
    const { size } = await file.stat()
    const name = encodeURIComponent(path.split('/').at(-1) ?? 'file').replaceAll("'", '%27')
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': size,
      'content-disposition': `attachment; filename*=UTF-8''${name}`,
      'content-security-policy': "default-src 'none'; sandbox",
    })
    if (message.method === 'HEAD' || size === 0) response.end()
    // The file may grow while it is sent; send exactly the announced length.
    else await pipeline(file.createReadStream({ end: size - 1, autoClose: false }), response, { signal })
  } finally {
    await file.close()
  }
  return undefined
}
