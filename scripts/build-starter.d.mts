export declare const kinds: readonly string[]
export declare const prebuilt: string
export declare const hashName: string
export declare function whyNotBuilt(kind: string): string | null
export declare function nameOf(kind: string): string
export declare function buildStarter(kind: string, dir: string): void
export declare function hashes(): string
