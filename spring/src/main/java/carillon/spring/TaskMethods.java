package carillon.spring;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.autoproxy.AutoProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;

/** Finds the methods with {@link CarillonTask} in all beans; makes none of the beans for that. */
final class TaskMethods {

  private final ConfigurableListableBeanFactory beans;

  TaskMethods(ConfigurableListableBeanFactory beans) {
    this.beans = beans;
  }

  /**
   * All of them, by type.
   *
   * @throws IllegalStateException if two do the same type, or one takes what it cannot get
   */
  List<TaskMethod> find() {
    Map<String, TaskMethod> byType = new TreeMap<>();
    for (String name : beans.getBeanDefinitionNames()) {
      for (TaskMethod method : methodsOf(name)) {
        TaskMethod other = byType.putIfAbsent(method.type(), method);
        if (other != null) {
          throw new IllegalStateException(
              "tasks of type " + method.type() + " have two methods: " + other + " and " + method);
        }
      }
    }
    return List.copyOf(byType.values());
  }

  private List<TaskMethod> methodsOf(String name) {
    // Of a scoped bean there are two definitions; the one that others see is the proxy.
    Class<?> type = name.startsWith("scopedTarget.") ? null : targetClass(name);
    if (type == null || !AnnotationUtils.isCandidateClass(type, CarillonTask.class)) {
      return List.of();
    }
    Map<Method, CarillonTask> found =
        MethodIntrospector.selectMethods(
            type,
            (Method method) ->
                AnnotatedElementUtils.findMergedAnnotation(method, CarillonTask.class));
    List<TaskMethod> methods = new ArrayList<>();
    found.forEach(
        (method, task) -> {
          Class<?> seen = beans.getType(name);
          Method callable = AopUtils.selectInvocableMethod(method, seen == null ? type : seen);
          methods.add(new TaskMethod(task.value(), () -> beans.getBean(name), callable));
        });
    return methods;
  }

  private @Nullable Class<?> targetClass(String name) {
    try {
      return AutoProxyUtils.determineTargetClass(beans, name);
    } catch (RuntimeException | LinkageError e) {
      return null; // abstract, or of a class that is not here: it cannot be called either
    }
  }
}
