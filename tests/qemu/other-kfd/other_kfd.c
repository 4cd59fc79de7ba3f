// SPDX-License-Identifier: GPL-2.0-only
// Registers the class "kfd" and a device of it, as Linux's amdgpu does (kfd_chardev_init), so that
// rkfd finds them taken.

#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/err.h>
#include <linux/module.h>

static const struct class kfd_class = {
	.name = "kfd",
};

static struct device *kfd_device;

static int __init other_kfd_init(void)
{
	int err = class_register(&kfd_class);

	if (err)
		return err;
	kfd_device = device_create(&kfd_class, NULL, MKDEV(0, 0), NULL, "kfd");
	if (IS_ERR(kfd_device)) {
		class_unregister(&kfd_class);
		return PTR_ERR(kfd_device);
	}
	return 0;
}

static void __exit other_kfd_exit(void)
{
	device_unregister(kfd_device);
	class_unregister(&kfd_class);
}

module_init(other_kfd_init);
module_exit(other_kfd_exit);
MODULE_DESCRIPTION("Has the class kfd, for tests");
MODULE_LICENSE("GPL");
