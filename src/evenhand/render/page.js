// Folds what is open for those without scripts; on paper everything is open.
const folded = [...document.querySelectorAll("details")];
const fold = (open) => folded.forEach((part) => { part.open = open; });
fold(false);
addEventListener("beforeprint", () => fold(true));
addEventListener("afterprint", () => fold(false));
