/* Lets long addresses in a list break at their @ and their dots, and nowhere within a word. */

for (const cell of document.querySelectorAll("#result_list :is(td, tbody th)")) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const long = [];
  while (texts.nextNode()) if (texts.currentNode.data.includes("@")) long.push(texts.currentNode);
  for (const text of long) {
    const parts = text.data.split(/(?<=[a-z0-9])(?=[@.][a-z0-9])/i);
    text.replaceWith(...parts.flatMap((part, number) => (number ? [document.createElement("wbr"), part] : [part])));
  }
}
