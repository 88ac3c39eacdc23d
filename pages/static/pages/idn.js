// @ts-check
/* Domain names in their own letters, in place of the ASCII form that the API has. Loaded when one is shown. */

const LATIN = "a-zß-öø-İĲ-ķĹ-ňŊ-žȘ-ț";
const ALONE = ["Arab", "Armn", "Beng", "Cyrl", "Deva", "Geor", "Grek", "Hebr", "Taml", "Thai"];
/* The letters that may stand together in a domain (UTS #39 §5.2, Highly Restrictive). */
const CLEAR = [
  ...ALONE.map((script) => `\\p{sc=${script}}`),
  ...["Hira}\\p{sc=Kana", "Bopo", "Hang"].map((script) => `${LATIN}\\p{sc=Han}\\p{sc=${script}}`),
].map((letters) => new RegExp(`^[${letters}]*$`, "u"));

/** Decode what stands after `xn--` (RFC 3492 §6.2). @param {string} encoded */
function decode(encoded) {
  const end = encoded.lastIndexOf("-");
  const letters = [...encoded.slice(0, Math.max(end, 0))];
  let [code, place, bias] = [128, 0, 72];
  for (let n = end + 1; n < encoded.length; ) {
    const before = place;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = (Number.parseInt(encoded[n++], 36) + 26) % 36;
      place += digit * weight;
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      if (!(digit >= threshold)) break;
      weight *= 36 - threshold;
    }
    const length = letters.length + 1;
    let delta = Math.floor((place - before) / (before ? 2 : 700));
    delta += Math.floor(delta / length);
    for (bias = 0; delta > 455; bias += 36) delta = Math.floor(delta / 35);
    bias += Math.floor((36 * delta) / (delta + 38));
    code += Math.floor(place / length);
    place %= length;
    letters.splice(place++, 0, String.fromCodePoint(code));
  }
  return letters.join("");
}

/** A text with its domains as people read them. @param {string} text */
export const readable = (text) => text.replace(/[a-z0-9.-]*xn--[a-z0-9.-]*[a-z0-9]/g, decodeDomain);

/**
 * A domain stays as it is if its letters could deceive, such as Cyrillic ones below .com, or if the browser doesn't
 * encode them so.
 * @param {string} domain
 */
function decodeDomain(domain) {
  try {
    const decoded = domain.replace(/(?<=^|\.)xn--([a-z0-9-]+)/g, (_, encoded) => decode(encoded));
    const letters = decoded.replace(/[\d.-]/g, "");
    const isClear = CLEAR.some((pattern) => pattern.test(letters)) && new URL(`https://${decoded}`).hostname === domain;
    return isClear ? decoded : domain;
  } catch {
    return domain; // no encoded name
  }
}
