// A classic script in the head, so that the page is never painted in the wrong colours first.
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const kept = localStorage.getItem('carillon.theme');
    const theme = kept === 'light' || kept === 'dark' ? kept : dark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event('themechange'));
  };
  dark.addEventListener('change', apply);
  document.addEventListener('themechoice', apply);
  addEventListener('storage', apply); // chosen in another tab
  apply();
})();
