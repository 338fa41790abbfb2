package carillon.browser;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;

/** Finds parts of a page by their accessible names. */
final class Parts {

  private Parts() {}

  static Locator main(Page page) {
    return page.getByRole(AriaRole.MAIN);
  }

  static Locator heading(Page page) {
    return page.locator("main h1");
  }

  static Locator button(Page page, String name) {
    return page.getByRole(
        AriaRole.BUTTON, new Page.GetByRoleOptions().setName(name).setExact(true));
  }

  static Locator button(Locator in, String name) {
    return in.getByRole(
        AriaRole.BUTTON, new Locator.GetByRoleOptions().setName(name).setExact(true));
  }

  static Locator link(Page page, String name) {
    return page.getByRole(AriaRole.LINK, new Page.GetByRoleOptions().setName(name).setExact(true));
  }

  /** Table rows with this text. */
  static Locator rows(Page page, String text) {
    return page.locator("main tbody tr", new Page.LocatorOptions().setHasText(text));
  }

  static Locator dialog(Page page) {
    return page.getByRole(AriaRole.DIALOG);
  }

  /** Presses the dialog's button. */
  static void confirm(Page page, String action) {
    button(dialog(page), action).click();
  }

  static Locator toasts(Page page) {
    return page.locator(".toasts");
  }

  static Locator alert(Page page) {
    return page.getByRole(AriaRole.ALERT);
  }
}
